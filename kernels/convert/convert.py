"""convert for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

import torch
from torch import Tensor

from ingot._torch.describe import operator

OPS = ("convert",)


@operator
class Convert:
    """The gradient goes back in the type of x."""

    schema = "convert(Tensor x, ScalarType dtype) -> Tensor"

    def fake(x, dtype):
        return x.new_empty(x.shape, dtype=dtype)

    def setup(ctx, inputs, output):
        ctx.dtype = inputs[0].dtype

    def backward(ctx, d_out):
        return Convert(d_out, ctx.dtype), None


def convert(x: Tensor, dtype: torch.dtype) -> Tensor:
    """x in another float type, contiguous; the shape stays."""
    return Convert(x, dtype)
