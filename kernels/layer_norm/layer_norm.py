"""layer_norm for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from typing import Any, Sequence

import torch
from torch import Tensor, nn

from ingot._overrides.dispatch import composite
from ingot._overrides.limits import affine, fits, limits
from ingot._patch_rules import patches
from ingot._torch.describe import ctx_needs, float32, like, like_or_absent, operator
from ingot._torch.rows import as_rows, sum_rows

OPS = ("layer_norm",)
NN = ("LayerNorm",)


@operator
class Backward:
    schema = ("layer_norm_backward(Tensor d_out, Tensor x, Tensor? weight=None, float eps=1e-5)"
              " -> (Tensor, Tensor, Tensor)")

    def fake(d_out, x, weight, eps):
        return like(x), like_or_absent(weight, x), like_or_absent(weight, x)

    def formula(d_out, x, weight, eps):
        centred = x - x.mean(-1, keepdim=True)
        reciprocal = torch.rsqrt((centred * centred).mean(-1, keepdim=True) + eps)
        normal = centred * reciprocal
        weighted = d_out if weight is None else d_out * weight
        d_x = reciprocal * (weighted - weighted.mean(-1, keepdim=True)
                            - normal * (weighted * normal).mean(-1, keepdim=True))
        if weight is None:
            return d_x, x.new_empty(0), x.new_empty(0)
        return d_x, sum_rows(d_out * normal), sum_rows(d_out)


@operator
class Forward:
    schema = "layer_norm(Tensor x, Tensor? weight=None, Tensor? bias=None, float eps=1e-5) -> Tensor"
    autocast = float32("x", "weight", "bias")

    def fake(x, weight, bias, eps):
        return like(x)

    def setup(ctx, inputs, output):
        x, weight, bias, ctx.eps = inputs
        ctx.save_for_backward(x, weight)
        ctx.bias_dtype = None if bias is None else bias.dtype

    def backward(ctx, d_out):
        x, weight = ctx.saved_tensors
        d_x, d_weight, d_bias = Backward.direct(d_out, x, weight, ctx.eps)
        if weight is None:
            d_weight = None
            d_bias = sum_rows(d_out.float()).to(ctx.bias_dtype) if ctx_needs(ctx, 2) else None
        return d_x, d_weight, d_bias if ctx_needs(ctx, 2) else None, None


_layer_norm = Forward.direct


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dimension.

    x: [..., C]. weight, bias: [C], of x's type or float32. Returns [..., C] of x's type.
    """
    return _layer_norm(x, weight, bias, eps)


class LayerNorm(nn.LayerNorm):
    """torch.nn.LayerNorm."""

    def forward(self, x: Tensor) -> Tensor:
        """x [..., *normalized_shape] to the same shape."""
        weight = None if self.weight is None else self.weight.flatten()
        bias = None if self.bias is None else self.bias.flatten()
        return layer_norm(as_rows(x, self.normalized_shape), weight, bias, self.eps).view(x.shape)


# ---- overrides; names with _direct are for calls without a gradient --------------------------------------

limits("normalization", "layer_norm", "layer_norm_direct")


@composite("normalization", "layer_norm", in_c=("layer_norm",),
           original="_ZN2at25compositeimplicitautograd10layer_normERKNS_6TensorEN3c108ArrayRefIlEERKSt8"
                    "optionalIS1_ESA_db")
def override(x: Any, normalized_shape: Sequence[int], weight: Any = None, bias: Any = None, eps: float = 1e-5,
             cudnn_enable: bool = True) -> Any:
    if fits("layer_norm", x) and eps > 0 and affine(x, normalized_shape, weight, bias):
        return Forward(x, weight, bias, eps)
    return NotImplemented


@patches(nn.LayerNorm, "normalization", "layer_norm")
def patched(self: Any, x: Any) -> Any:
    limit = "layer_norm" if torch.is_grad_enabled() else "layer_norm_direct"
    if not fits(limit, x, self._ingot_always) or not self.eps > 0:
        return NotImplemented
    weight, bias = self.weight, self.bias
    if affine(x, self.normalized_shape, weight, bias):
        return layer_norm(x, weight, bias, self.eps)
    return NotImplemented
