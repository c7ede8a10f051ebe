"""rope for PyTorch; see python/ingot/_torch/describe.py.

It is linear in x: its gradient is the rotation back, whose gradient is rope.
"""
from __future__ import annotations

from torch import Tensor, nn

from ingot._torch.describe import like, lower, operator, refuse_gradient_of

OPS = ("rope",)
NN = ("RotaryEmbedding",)


class Rotation:
    def fake(x, positions, cos, sin, offset, dims, interleaved, base, scale):
        return like(x)


def keep_angles(name, ctx, inputs):
    """What the rotation back needs."""
    _, positions, cos, sin, *ctx.options = inputs
    refuse_gradient_of(name, "cos", cos)
    refuse_gradient_of(name, "sin", sin)
    ctx.save_for_backward(positions, cos, sin)


@operator
class Rope(Rotation):
    schema = ("rope(Tensor x, Tensor? positions=None, Tensor? cos=None, Tensor? sin=None, int offset=0, int dims=0,"
              " bool interleaved=False, float base=10000.0, float scale=1.0) -> Tensor")
    autocast = lower("x", followers=("cos", "sin"))

    def setup(ctx, inputs, output):
        keep_angles("rope", ctx, inputs)

    def backward(ctx, d_out):
        return (Back(d_out, *ctx.saved_tensors, *ctx.options), *(None,) * 8)


@operator
class Back(Rotation):
    schema = ("rope_backward(Tensor d_out, Tensor? positions=None, Tensor? cos=None, Tensor? sin=None, int offset=0,"
              " int dims=0, bool interleaved=False, float base=10000.0, float scale=1.0) -> Tensor")

    def setup(ctx, inputs, output):
        keep_angles("rope_backward", ctx, inputs)

    def backward(ctx, d_out):
        return (Rope(d_out, *ctx.saved_tensors, *ctx.options), *(None,) * 8)


_rope = Rope.direct


def rope(x: Tensor, positions: Tensor | None = None, *, cos: Tensor | None = None, sin: Tensor | None = None,
         offset: int = 0, dims: int | None = None, interleaved: bool = False, base: float = 10000.0,
         scale: float = 1.0) -> Tensor:
    """Rotary position embedding of x [B, H, S, D].

    Pair i of the first `dims` elements (D if None) turns by position * scale * base^(-2i / dims); pairs are
    (i, i + dims/2), or (2i, 2i + 1) when interleaved. The position of row s is offset + s, or offset +
    positions[…, s] with positions [S] or [B, S], int32 or int64. With tables cos and sin [positions, dims/2],
    float32 or of x's type, the angles are theirs and base and scale are not used.
    """
    return _rope(x, positions, cos, sin, offset, dims or 0, interleaved, base, scale)


class RotaryEmbedding(nn.Module):
    """ops.rope as a module without parameters. dims: how many elements of a head turn; None is all."""

    def __init__(self, dims: int | None = None, base: float = 10000.0, interleaved: bool = False,
                 scale: float = 1.0) -> None:
        super().__init__()
        self.dims, self.base, self.interleaved, self.scale = dims, base, interleaved, scale

    def forward(self, x: Tensor, positions: Tensor | None = None, offset: int = 0) -> Tensor:
        """x [B, H, S, D] turned by its positions: offset + s, or offset + positions [S] or [B, S]."""
        return rope(x, positions, offset=offset, dims=self.dims, interleaved=self.interleaved, base=self.base,
                        scale=self.scale)

    def extra_repr(self) -> str:
        """What differs between two of them."""
        return f"dims={self.dims}, base={self.base}, interleaved={self.interleaved}, scale={self.scale}"
