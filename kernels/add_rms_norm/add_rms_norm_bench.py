"""add_rms_norm in torch, for bench/torch_compare.py."""
from torch_case import gradients
from rms_norm_bench import rms


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


TORCH = {"add_rms_norm": add_rms_norm, "add_rms_norm_backward": add_rms_norm_backward}
FUSED = True


def shapes():
    """On any shape: for bench/shapes.py and bench/gpu_torch.py."""
    import ingot.ops
    import torch.nn.functional as F
    from shape_case import row_operation

    def other(weight, _):
        def run(x, residual):
            total = x + residual
            return F.rms_norm(total, weight.shape, weight, 1e-6), total
        return run

    def mine(weight, _):
        return lambda x, residual: ingot.ops.add_rms_norm(x, residual, weight, eps=1e-6)

    return {"add_rms_norm": row_operation("add_rms_norm", other, mine, 2)}
