"""log_softmax for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import fits, gradient_fits, is_last, limits
from ingot._patch_rules import patches
from ingot._torch.describe import count_dimensions, float32, like, operator

OPS = ("log_softmax",)
NN = ("LogSoftmax",)


@operator
class Backward:
    schema = "log_softmax_backward(Tensor d_out, Tensor out) -> Tensor"

    def fake(d_out, out):
        return like(out)

    def formula(d_out, out):
        return d_out - torch.exp(out) * d_out.sum(-1, keepdim=True)


@operator
class Forward:
    schema = "log_softmax(Tensor x) -> Tensor"
    autocast = float32("x")

    def fake(x):
        return like(x)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(output)

    def backward(ctx, d_out):
        return Backward.direct(d_out, *ctx.saved_tensors)


_log_softmax = Forward.direct


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """x - log(sum(exp(x))) over a dimension."""
    if dim not in (-1, count_dimensions("log_softmax", "x", x) - 1):
        return _log_softmax(x.movedim(dim, -1)).movedim(-1, dim)
    return _log_softmax(x)


class LogSoftmax(nn.LogSoftmax):
    """torch.nn.LogSoftmax; dim=None is the last dimension."""

    def forward(self, x: Tensor) -> Tensor:
        """The logarithm of softmax along `dim`."""
        return log_softmax(x, dim=-1 if self.dim is None else self.dim)


limits("softmax", "log_softmax", "log_softmax_backward")


@leaf("softmax", "_log_softmax", original="_ZN2at3cpu12_log_softmaxERKNS_6TensorElb")
def override(x: Any, dim: int, half_to_float: bool) -> Any:
    return Forward(x) if not half_to_float and is_last(dim, x) and fits("log_softmax", x) else NotImplemented


@leaf("softmax", "_log_softmax_backward_data",
      original="_ZN2at3cpu26_log_softmax_backward_dataERKNS_6TensorES3_lN3c1010ScalarTypeE")
def override_backward(d_out: Any, out: Any, dim: int, input_dtype: Any) -> Any:
    if gradient_fits("log_softmax_backward", d_out, out) and is_last(dim, out) and out.dtype == input_dtype:
        return Backward(d_out, out)
    return NotImplemented


@patches(nn.LogSoftmax, "softmax", "log_softmax")
def patched(self: Any, x: Any) -> Any:
    if self.dim is None or not is_last(self.dim, x) or not fits("log_softmax", x, self._ingot_always):
        return NotImplemented
    return log_softmax(x)
