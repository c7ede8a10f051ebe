"""The operations of `ingot bench` in torch, for torch_compare.py: a function each, of its row, that makes a call."""
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


# Each takes a Case and gives (function, arguments) or (function, arguments, True) when torch.compile may try; a
# function in the place of True is what it compiles instead.

def axpy(c):
    return lambda x, y: y.add_(x, alpha=1.5), (c.make("x"), c.make("y")), True


def fill(c):
    return lambda out: out.fill_(1.5), (c.make("out"),), True


def convert(c):
    return lambda x, out: out.copy_(x), (c.make("from"), c.make("to")), True


def activation(name):
    import torch.nn.functional as F
    return {"silu": F.silu, "gelu": F.gelu, "gelu_tanh": lambda x: F.gelu(x, approximate="tanh")}[name]


def pointwise(c):
    import torch
    operation = c.row["operation"]
    name = operation.removesuffix("_backward").removesuffix("_mul")
    f = activation(name)
    if "_mul" in operation:
        gate, up = c.make("gate_up").chunk(2, -1) if c.has("gate_up") else (c.make("gate"), c.make("up"))
        if operation.endswith("_backward"):
            return gradients(lambda g, u: f(g) * u, [gate, up], c.make("d_out"))
        return lambda g, u: f(g) * u, (gate, up), True
    if operation == "silu_backward":
        return (lambda d, x: torch.ops.aten.silu_backward(d, x)), (c.make("d_out"), c.make("x")), True
    if operation.endswith("_backward"):
        approximate = "tanh" if name == "gelu_tanh" else "none"
        return (lambda d, x: torch.ops.aten.gelu_backward(d, x, approximate=approximate)), \
            (c.make("d_out"), c.make("x")), True
    return f, (c.make("x"),), True


def rms(x, weight, eps=1e-6):
    import torch.nn.functional as F
    return F.rms_norm(x, x.shape[-1:], weight if weight is None else weight.to(x.dtype), eps)


def rms_norm(c):
    return rms, (c.make("x"), c.optional("weight")), True


def rms_norm_backward(c):
    inputs = [c.make("x")] + ([c.make("weight")] if c.has("weight") else [])
    return gradients(lambda x, w=None: rms(x, w), inputs, c.make("dy"))


def add_rms_norm(c):
    def f(x, residual, weight):
        total = x + residual
        return total, rms(total, weight)
    return f, (c.make("x"), c.make("residual"), c.optional("weight")), True


def add_rms_norm_backward(c):
    if not c.has("dsum"):
        return gradients(lambda s, w=None: rms(s, w), [c.make("sum")] + ([c.make("weight")] if c.has("weight") else []),
                         c.make("dy"))
    inputs = [c.make("sum")] + ([c.make("weight")] if c.has("weight") else [])
    return gradients(lambda s, w=None: (s * 1, rms(s, w)), inputs, (c.make("dsum"), c.make("dy")))


def layer_norm(c):
    import torch.nn.functional as F
    return (lambda x, w, b: F.layer_norm(x, x.shape[-1:], w, b, 1e-5)), \
        (c.make("x"), c.optional("weight"), c.optional("bias")), True


def layer_norm_backward(c):
    import torch.nn.functional as F
    x = c.make("x")
    weight = c.make("weight") if c.has("weight") else None
    inputs = [x] + ([weight, weight.clone()] if weight is not None else [])
    return gradients(lambda a, w=None, b=None: F.layer_norm(a, a.shape[-1:], w, b, 1e-5), inputs, c.make("dy"))


def softmax(c):
    import torch
    x = c.make("x")
    if "causal" in c.flags:
        rows, columns = x.shape[-2:]
        mask = torch.full((rows, columns), -math.inf, dtype=x.dtype).triu(columns - rows + 1)
        return lambda a, m: torch.softmax(a + m, -1), (x, mask), True
    if c.has("mask"):
        mask = c.make("mask")
        if mask.dtype == torch.bool:
            mask[..., 0] = True
            return lambda a, m: torch.softmax(a.masked_fill(~m, -math.inf), -1), (x, mask), True
        return lambda a, m: torch.softmax(a + m.to(a.dtype), -1), (x, mask), True
    return lambda a: torch.softmax(a, -1), (x,), True


def softmax_backward(c):
    import torch
    return lambda d, y: torch.ops.aten._softmax_backward_data(d, y, -1, y.dtype), \
        (c.make("dy"), torch.softmax(c.make("y"), -1)), True


def log_softmax(c):
    import torch
    return lambda x: torch.log_softmax(x, -1), (c.make("x"),), True


def log_softmax_backward(c):
    import torch
    return lambda d, y: torch.ops.aten._log_softmax_backward_data(d, y, -1, y.dtype), \
        (c.make("dy"), torch.log_softmax(c.make("y"), -1)), True


def cross_entropy(c):
    import torch
    import torch.nn.functional as F
    logits = c.make("logits").requires_grad_()
    targets = torch.randint(0, logits.shape[-1], (logits.shape[0],))

    def f(x, t):
        return torch.autograd.grad(F.cross_entropy(x, t), x)
    if c.has("dlogits") or any(t["name"].startswith("dlogits") for t in c.slots.values()):
        return f, (logits, targets), True
    return F.cross_entropy, (logits.detach(), targets), True


def rope(c):
    import torch
    x = c.make("x")
    length, row = x.shape[-2:]
    dims = int(c.sizes.get("dims") or row)
    angles = torch.outer(torch.arange(length).float(), 10000.0 ** (-torch.arange(0, dims, 2).float() / dims))
    cos, sin = angles.cos(), angles.sin()
    sign = -1 if c.row["operation"] == "rope_backward" else 1

    def half(a, co, si):
        p, q = a[..., :dims // 2], a[..., dims // 2:dims]
        return torch.cat((p * co - q * si, q * co + p * si, a[..., dims:]), -1).to(a.dtype)

    def pairs(a, co, si):
        p, q = a[..., 0:dims:2], a[..., 1:dims:2]
        turned = torch.stack((p * co - q * si, q * co + p * si), -1).flatten(-2)
        return torch.cat((turned, a[..., dims:]), -1).to(a.dtype)
    return (pairs if "interleaved" in c.flags else half), (x, cos, sign * sin), True


def attention_inputs(c):
    import torch
    q, k, v = c.make("q"), c.make("k"), c.make("v")
    causal = "causal" in c.flags
    extra = {"enable_gqa": q.shape[1] != k.shape[1]}
    if c.has("mask"):
        mask = c.make("mask")
        extra["attn_mask"] = mask if mask.dtype == torch.bool else mask.to(q.dtype)
    elif causal and q.shape[2] == k.shape[2]:
        extra["is_causal"] = True
    elif causal and q.shape[2] > 1:
        rows, columns = q.shape[2], k.shape[2]
        extra["attn_mask"] = torch.ones(rows, columns, dtype=torch.bool).tril(columns - rows)
    return (q, k, v), extra


def attention(c):
    import torch.nn.functional as F
    inputs, extra = attention_inputs(c)
    return (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **extra)), inputs


def attention_backward(c):
    import torch.nn.functional as F
    inputs, extra = attention_inputs(c)
    return gradients(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **extra), list(inputs), c.make("dout"))


def attention_paged(c):
    """torch has no paged cache: plain attention over a cache that is in one piece already."""
    import torch
    import torch.nn.functional as F
    q = c.make("q")
    blocks, heads, block, dim = c.shape("key_cache")
    length = min(blocks // q.shape[0], c.shape("block_table")[1]) * block
    k = torch.randn(q.shape[0], heads, length, dim).to(q.dtype)
    v = torch.randn(q.shape[0], heads, length, c.shape("value_cache")[3]).to(q.dtype)
    return (lambda a, b, d: F.scaled_dot_product_attention(a, b, d, enable_gqa=a.shape[1] != heads)), (q, k, v)


def cache_write(c):
    import torch
    blocks, heads, block, _ = c.shape("key_cache")
    slots = torch.randperm(blocks * block)[:c.shape("key")[0]]

    def f(key, value, keys, values):
        keys[slots // block, :, slots % block] = key
        values[slots // block, :, slots % block] = value
    return f, (c.make("key"), c.make("value"), c.make("key_cache"), c.make("value_cache"))


def matmul(c):
    import torch
    import torch.nn.functional as F
    a, b = c.make("a"), c.make("b")
    bias = c.optional("bias")
    a = a.mT if "transpose_a" in c.flags else a
    b = b.mT if "transpose_b" in c.flags else b
    act = next((f for name, f in (("silu", F.silu), ("relu", F.relu),
                                  ("gelu_tanh", lambda x: F.gelu(x, approximate="tanh")),
                                  ("gelu", F.gelu)) if name in c.flags), None)

    def f(x, y, z):
        if z is not None and x.dim() == 2 and y.dim() == 2:
            out = torch.addmm(z, x, y)
        else:
            out = torch.matmul(x, y) if z is None else torch.matmul(x, y) + z
        return act(out) if act else out
    return f, (a, b, bias)


def quantise(c):
    """Groupwise, symmetric 8-bit codes as the cheapest comparable work: scales, rounding, no packing."""
    import torch
    x = c.make("x")
    group = int(c.sizes.get("group") or 32)

    def f(a):
        g = a.reshape(a.shape[0], -1, group)
        scale = g.abs().amax(-1, keepdim=True) / 7
        return (g / scale).round_().clamp_(-8, 7).to(torch.int8), scale
    return f, (x,), True


def dequantise(c):
    import torch
    rows, row = c.shape("out")
    groups = c.shape("scales")[1]
    codes = torch.randint(-8, 8, (rows, groups, row // groups), dtype=torch.int8)
    scales = torch.rand(rows, groups, 1).to(c.dtype("out"))
    return lambda a, s: (a.to(s.dtype) * s).reshape(rows, row), (codes, scales), True


def float_product(c):
    """The float32 product of the same shape: what 4 bits are measured against."""
    import torch
    out = c.shape("out")
    x = c.shape("x")
    w = torch.randn(out[-1], x[-1])
    return torch.nn.functional.linear, (torch.randn(x), w)


def embedding_inputs(c):
    import torch
    rows = c.shape("table")[0]
    indices = c.make("indices", 0, rows)
    offsets = None
    if c.has("offsets"):
        count = c.shape("offsets")[0]
        offsets = (torch.arange(count) * (indices.numel() // max(count, 1))).to(indices.dtype)
    mode = next((m for m in ("mean", "max") if m in c.flags), "sum")
    weights = c.make("sample_weights") if c.has("sample_weights") else None
    return c.make("table"), indices, offsets, mode, weights


def embedding_bag(c):
    import torch.nn.functional as F
    table, indices, offsets, mode, weights = embedding_inputs(c)
    return (lambda i, t, o, w: F.embedding_bag(i, t, o, mode=mode, per_sample_weights=w)), \
        (indices, table, offsets, weights), True


def embedding_bag_backward(c):
    import torch.nn.functional as F
    table, indices, offsets, mode, weights = embedding_inputs(c)
    return gradients(lambda t: F.embedding_bag(indices, t, offsets, mode=mode, per_sample_weights=weights), [table],
                     c.make("d_out"))


def many(c):
    """The tensors of an optimiser's step."""
    import torch
    return [torch.randn(c.sizes["size"]).to(c.dtype()) for _ in range(c.sizes["tensors"])]


def adamw(c):
    import torch
    parameters = [torch.nn.Parameter(t) for t in many(c)]
    for p in parameters:
        p.grad = torch.randn_like(p)
    kind = torch.optim.AdamW if c.row["operation"] == "adamw" else torch.optim.Adam
    to_compile = kind(parameters, lr=1e-3, foreach=True)
    return kind(parameters, lr=1e-3, fused=True).step, (), lambda: to_compile.step()


def grad_norm(c):
    import torch
    values = many(c)
    return lambda: torch.nn.utils.get_total_norm(values), ()


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


def qr(c):
    import torch
    mode = "complete" if "complete" in c.flags else "reduced"
    mode = mode if c.has("q") else "r"
    return in_float(lambda a: tuple(torch.linalg.qr(a, mode)), c.make("a"))


def cholesky(c):
    import torch
    return in_float(lambda a: torch.linalg.cholesky(a), positive(c.make("a")))


def lu(c):
    import torch
    return in_float(lambda a: tuple(torch.linalg.lu_factor(a))[0], c.make("a"))


def solve(c):
    import torch
    return in_float(torch.linalg.solve, positive(c.make("a")), c.make("b"))


def triangular_solve(c):
    import torch
    upper = "upper" in c.flags
    a = positive(c.make("a"))
    a = a.triu() if upper else a.tril()
    left = "right" not in c.flags
    return in_float(lambda x, b: torch.linalg.solve_triangular(x, b, upper=upper, left=left), a, c.make("b"))


def lstsq(c):
    import torch
    return in_float(lambda a, b: torch.linalg.lstsq(a, b, driver="gelsy").solution, c.make("a"), c.make("b"))


def eigh(c):
    import torch
    a = c.make("a")
    f = torch.linalg.eigh if c.has("vectors") else torch.linalg.eigvalsh
    return in_float(lambda x: tuple(f(x)) if c.has("vectors") else f(x), (a + a.mT).contiguous())


def svd(c):
    import torch
    if not c.has("u"):
        return in_float(torch.linalg.svdvals, c.make("a"))
    return in_float(lambda a: tuple(torch.linalg.svd(a, full_matrices=False)), c.make("a"))


POINTWISE = [f"{n}{s}" for n in ("silu", "gelu", "gelu_tanh") for s in ("", "_mul", "_backward", "_mul_backward")]
OPERATIONS = {
    **{f.__name__: f for f in (
        axpy, fill, convert, rms_norm, rms_norm_backward, add_rms_norm, add_rms_norm_backward, layer_norm,
        layer_norm_backward, softmax, softmax_backward, log_softmax, log_softmax_backward, cross_entropy, rope,
        attention, attention_backward, attention_paged, cache_write, matmul, quantise, dequantise, embedding_bag,
        embedding_bag_backward, adamw, grad_norm, qr, cholesky, lu, solve, triangular_solve, lstsq, eigh, svd)},
    **{name: pointwise for name in POINTWISE},
    "rope_backward": rope, "adam": adamw, "quantised_matvec": float_product, "quantised_matmul": float_product,
    "attention_decode": attention,
}
