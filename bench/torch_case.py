"""What kernels/NAME/NAME_bench.py are written with: a row of `ingot bench`, and calls of torch."""
import math
import re

class Case:
    """A row of ingot, as the functions below see it: tensors by name, sizes, flags."""

    def __init__(self, row):
        self.row = row
        self.sizes = row["sizes"]
        self.numbers = row["numbers"]
        self.flags = {*row["flag_names"], *re.split("[^a-z_]+", row["case"])}
        self.slots = {t["name"]: t for t in row["tensors"]}
        self.type = row["type"]

    def has(self, name):
        return name in self.slots

    def shape(self, name):
        return self.slots[name]["shape"]

    def dtype(self, name=None):
        import torch
        return {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16, "i32": torch.int32,
                "i64": torch.int64,
                "u32": torch.int32, "u8": torch.uint8, "i8": torch.int8, "bool": torch.bool
                }[self.slots[name]["type"] if name else self.type]

    def make(self, name, low=0, high=2):
        """Random values with the slot's type, shape and strides; large tensors of floats repeat a random part."""
        import torch
        slot, dtype = self.slots[name], self.dtype(name)
        reach = 1 + sum((n - 1) * s for n, s in zip(slot["shape"], slot["strides"]))
        if dtype.is_floating_point:
            part = 1000003  # a prime: rows differ
            base = torch.randn(min(reach, part)).to(dtype)
            base = base if reach <= part else base.repeat(-(-reach // part))[:reach].clone()
        else:
            base = torch.randint(low, high, (reach,)).to(dtype)
        return base.as_strided(slot["shape"], slot["strides"])

    def optional(self, name):
        return self.make(name) if self.has(name) else None


class Backward:
    """Only the backward pass of a forward function."""

    def __init__(self, forward, inputs, dout):
        self.forward, self.dout = forward, dout
        self.inputs = [t.detach().requires_grad_() for t in inputs]
        self.out = forward(*self.inputs)

    def __call__(self):
        import torch
        return torch.autograd.grad(self.out, self.inputs, self.dout, retain_graph=True)

    def with_forward(self, forward):
        return Backward(forward, self.inputs, self.dout)


def gradients(forward, inputs, dout):
    return Backward(forward, inputs, dout), (), True


def in_float(f, *tensors):
    """Half types are computed in float32 and converted back, as ingot does."""
    import torch
    if all(t.dtype == torch.float32 for t in tensors):
        return f, tensors

    def g(*args):
        out = f(*(a.float() for a in args))
        return [o.to(args[0].dtype) for o in (out if isinstance(out, tuple) else (out,))]
    return g, tensors


def positive(a):
    import torch
    x = a.float()
    return (x @ x.mT + x.shape[-1] * torch.eye(x.shape[-1])).to(a.dtype)


def float_product(c):
    """The float32 product of the same shape: what 4 bits are measured against."""
    import torch
    out = c.shape("out")
    x = c.shape("x")
    w = torch.randn(out[-1], x[-1])
    return torch.nn.functional.linear, (torch.randn(x), w)


def small_batches(c):
    """A target: twice torch's speed for a batch of matrices of up to 64 rows and columns."""
    size, batch = max(c.shape("a")[-2:]), math.prod(c.shape("a")[:-2])
    return 2.0 if size <= 64 and batch > 1 and c.type == "f32" else None
