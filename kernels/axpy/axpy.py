"""axpy for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from torch import Tensor

from ingot._torch.describe import like, operator, widest

OPS = ("axpy", "axpy_")


@operator
class InPlace:
    schema = "axpy_(Tensor(a!) y, Tensor x, float alpha=1.0) -> ()"


@operator
class Axpy:
    schema = "axpy(Tensor x, Tensor y, float alpha=1.0) -> Tensor"
    autocast = widest("x", "y")

    def fake(x, y, alpha):
        return like(y)

    def setup(ctx, inputs, output):
        ctx.alpha = inputs[2]

    def backward(ctx, d_out):
        return d_out * ctx.alpha, d_out, None


def axpy(x: Tensor, y: Tensor, alpha: float = 1.0) -> Tensor:
    """alpha * x + y, computed in float32 and rounded once; x and y have one shape and type."""
    return Axpy(x, y, alpha)


def axpy_(y: Tensor, x: Tensor, alpha: float = 1.0) -> Tensor:
    """y += alpha * x in place, and returns y."""
    InPlace(y, x, alpha)
    return y
