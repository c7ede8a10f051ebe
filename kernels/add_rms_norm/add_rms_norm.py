"""add_rms_norm for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from torch import Tensor

from ingot._operations.rms_norm import gradients
from ingot._torch.describe import float32, like, like_or_absent, operator

OPS = ("add_rms_norm",)


@operator
class Backward:
    schema = ("add_rms_norm_backward(Tensor d_out, Tensor? d_sum, Tensor sum, Tensor? weight=None, float eps=1e-6)"
              " -> (Tensor, Tensor)")

    def fake(d_out, d_sum, sum, weight, eps):
        return like(sum), like_or_absent(weight, sum)

    def formula(d_out, d_sum, total, weight, eps):
        d_x, d_weight = gradients(d_out, total, weight, eps)
        return d_x if d_sum is None else d_x + d_sum, d_weight


@operator
class Forward:
    """x and residual have the same gradient, from the gradients of both outputs."""

    schema = "add_rms_norm(Tensor x, Tensor residual, Tensor? weight=None, float eps=1e-6) -> (Tensor, Tensor)"
    autocast = float32("x", "residual", "weight")

    def fake(x, residual, weight, eps):
        return like(x), like(x)

    def setup(ctx, inputs, output):
        _, _, weight, ctx.eps = inputs
        ctx.save_for_backward(output[1], weight)
        ctx.set_materialize_grads(False)

    def backward(ctx, d_out, d_sum):
        total, weight = ctx.saved_tensors
        if d_out is None:
            return d_sum, d_sum, None, None
        d_x, d_weight = Backward.direct(d_out, d_sum, total, weight, ctx.eps)
        return d_x, d_x, None if weight is None else d_weight, None


_add_rms_norm = Forward.direct


def add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor | None = None,
                 eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """The residual connection and the norm after it, in one pass over memory.

    x, residual: [..., C]. Returns (rms_norm(x + residual), x + residual).
    """
    return _add_rms_norm(x, residual, weight, eps)
