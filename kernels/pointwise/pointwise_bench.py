"""pointwise in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import gradients


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


NAMES = [f"{n}{s}" for n in ("silu", "gelu", "gelu_tanh") for s in ("", "_mul", "_backward", "_mul_backward")]
TORCH = dict.fromkeys(NAMES, pointwise)
FUSED = True


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch
    import torch.nn.functional as F
    from limit_case import ACTIVATION_SIZES, BOTH, Limit, flat, flat_gradient, normal

    import ingot.ops

    aten = torch.ops.aten

    def tanh(x):
        return F.gelu(x, approximate="tanh")

    def product(function, ours):
        def make(dtype, elements):
            x, y = normal(elements, dtype=dtype), normal(elements, dtype=dtype)
            return lambda: function(x) * y, lambda: ours(x, y)
        return make

    calls = {
        "silu": flat(F.silu),
        "silu_backward": flat_gradient(aten.silu_backward),
        "gelu": flat(F.gelu),
        "gelu_backward": flat_gradient(aten.gelu_backward),
        "gelu_tanh": flat(tanh),
        "gelu_tanh_backward": flat_gradient(lambda d, x: aten.gelu_backward(d, x, approximate="tanh")),
        "silu_mul": product(F.silu, ingot.ops.silu_mul),
        "gelu_mul": product(F.gelu, ingot.ops.gelu_mul),
        "gelu_tanh_mul": product(tanh, lambda x, y: ingot.ops.gelu_mul(x, y, "tanh")),
    }
    return {name: Limit(BOTH, ACTIVATION_SIZES, make) for name, make in calls.items()}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch.nn.functional as F
    from shape_case import row_operation

    return {"silu": row_operation("silu", lambda *_: F.silu, lambda *_: ingot.ops.silu),
            "gelu": row_operation("gelu", lambda *_: F.gelu, lambda *_: ingot.ops.gelu),
            "silu_mul": row_operation("silu_mul", lambda *_: lambda x, y: F.silu(x) * y,
                                      lambda *_: ingot.ops.silu_mul, 2, shown=False)}
