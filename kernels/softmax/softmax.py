"""softmax for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from typing import Any

from torch import Tensor, nn

from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import fits, gradient_fits, is_last, limits
from ingot._patch_rules import patches
from ingot._torch.describe import count_dimensions, ctx_needs, float32, like, operator

OPS = ("softmax",)
NN = ("Softmax",)


@operator
class Backward:
    schema = "softmax_backward(Tensor d_out, Tensor out, float scale=1.0) -> Tensor"

    def fake(d_out, out, scale):
        return like(out)

    def formula(d_out, out, scale):
        return scale * out * (d_out - (out * d_out).sum(-1, keepdim=True))


@operator
class Forward:
    """A mask that is added has a gradient too: that of x before the scale, summed to the mask's shape."""

    schema = ("softmax(Tensor x, Tensor? mask=None, float scale=1.0, bool causal=False, int causal_offset=0)"
              " -> Tensor")
    autocast = float32("x", followers=("mask",))

    def fake(x, mask, scale, causal, causal_offset):
        return like(x)

    def setup(ctx, inputs, output):
        x, mask, ctx.scale, _, _ = inputs
        ctx.save_for_backward(output)
        ctx.mask = None if mask is None else (mask.shape, mask.dtype)

    def backward(ctx, d_out):
        (out,) = ctx.saved_tensors
        d_x = Backward.direct(d_out, out, ctx.scale) if ctx_needs(ctx, 0) else None
        d_mask = None
        if ctx_needs(ctx, 1):
            shape, dtype = ctx.mask
            d_mask = Backward.direct(d_out, out, 1.0).float().sum_to_size(shape).to(dtype)
        return d_x, d_mask, None, None, None


_softmax = Forward.direct


def softmax(x: Tensor, mask: Tensor | None = None, scale: float = 1.0, causal: bool = False, dim: int = -1,
            causal_offset: int | None = None) -> Tensor:
    """softmax(x * scale + mask) over a dimension, the last one unless `dim` says otherwise.

    mask: broadcast to x over leading dimensions; bool (True takes part), or added, of x's type or float32.
    causal: x is [..., S, T], and column j takes part in row i where j <= i + causal_offset; the offset is T - S
    unless given, so that the last row sees everything. A row in which nothing takes part is NaN.
    """
    if dim not in (-1, count_dimensions("softmax", "x", x) - 1):
        if mask is not None or causal:
            raise ValueError(f"softmax: mask and causal go with the last dimension, but dim is {dim}")
        return _softmax(x.movedim(dim, -1), None, scale).movedim(-1, dim)
    offset = 0
    if causal:
        if x.dim() < 2:
            raise ValueError(f"softmax: causal needs at least 2 dimensions, but x has {x.dim()}")
        offset = x.shape[-1] - x.shape[-2] if causal_offset is None else causal_offset
    return _softmax(x, mask, scale, causal, offset)


class Softmax(nn.Softmax):
    """torch.nn.Softmax; dim=None is the last dimension."""

    def forward(self, x: Tensor) -> Tensor:
        """Rows along `dim` that sum to 1."""
        return softmax(x, dim=-1 if self.dim is None else self.dim)


limits("softmax", "softmax", "softmax_backward")


@leaf("softmax", "_softmax", original="_ZN2at3cpu8_softmaxERKNS_6TensorElb")
def override(x: Any, dim: int, half_to_float: bool) -> Any:
    return Forward(x) if not half_to_float and is_last(dim, x) and fits("softmax", x) else NotImplemented


@leaf("softmax", "_softmax_backward_data",
      original="_ZN2at3cpu22_softmax_backward_dataERKNS_6TensorES3_lN3c1010ScalarTypeE")
def override_backward(d_out: Any, out: Any, dim: int, input_dtype: Any) -> Any:
    if gradient_fits("softmax_backward", d_out, out) and is_last(dim, out) and out.dtype == input_dtype:
        return Backward(d_out, out)
    return NotImplemented


@patches(nn.Softmax, "softmax", "softmax")
def patched(self: Any, x: Any) -> Any:
    if self.dim is None or not is_last(self.dim, x) or not fits("softmax", x, self._ingot_always):
        return NotImplemented
    return softmax(x)
