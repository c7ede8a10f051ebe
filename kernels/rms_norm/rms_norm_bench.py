"""rms_norm in torch, for bench/torch_compare.py and bench/override_limits.py."""
from torch_case import gradients


def rms(x, weight, eps=1e-6):
    import torch.nn.functional as F
    return F.rms_norm(x, x.shape[-1:], weight if weight is None else weight.to(x.dtype), eps)


def rms_norm(c):
    return rms, (c.make("x"), c.optional("weight")), True


def rms_norm_backward(c):
    inputs = [c.make("x")] + ([c.make("weight")] if c.has("weight") else [])
    return gradients(lambda x, w=None: rms(x, w), inputs, c.make("dy"))


TORCH = {"rms_norm": rms_norm, "rms_norm_backward": rms_norm_backward}
FUSED = True


def limits():
    """From which size on the overrides pay: calls to measure."""
    import torch.nn.functional as F
    from limit_case import BOTH, ROW_SIZES, Limit, norm

    def call(x, w):
        return F.rms_norm(x, w.shape, w, 1e-6)

    return {"rms_norm": Limit(BOTH, ROW_SIZES, norm(call, True)),
            "rms_norm_direct": Limit(BOTH, ROW_SIZES, norm(call, False))}


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    from shape_case import row_operation, row_training

    def other(weight, _):
        return lambda x: rms(x, weight)

    def mine(weight, _):
        return lambda x: ingot.ops.rms_norm(x, weight, eps=1e-6)

    return {"rms_norm": row_operation("rms_norm", other, mine), "rms_norm_training": row_training(other, mine, 1)}
