"""layer_norm in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import gradients


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


TORCH = {"layer_norm": layer_norm, "layer_norm_backward": layer_norm_backward}
FUSED = True


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch.nn.functional as F
    from limit_case import BOTH, ROW_SIZES, Limit, norm

    def call(x, w):
        return F.layer_norm(x, w.shape, w, w)

    return {"layer_norm": Limit(BOTH, ROW_SIZES, norm(call, True)),
            "layer_norm_direct": Limit(BOTH, ROW_SIZES, norm(call, False))}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch.nn.functional as F
    from shape_case import row_operation, row_training

    def other(weight, bias):
        return lambda x: F.layer_norm(x, weight.shape, weight, bias, 1e-5)

    def mine(weight, bias):
        return lambda x: ingot.ops.layer_norm(x, weight, bias, eps=1e-5)

    return {"layer_norm": row_operation("layer_norm", other, mine),
            "layer_norm_training": row_training(other, mine, 2)}
