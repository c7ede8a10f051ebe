"""softmax, log_softmax, layer_norm, rms_norm and cross_entropy."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from ingot._overrides.dispatch import composite, leaf
from ingot._overrides.limits import fits, plain

ops = torch.ops.ingot

# torch's numbers of reductions, in ingot's order: mean, sum, none.
_REDUCTIONS = {1: 0, 2: 1, 0: 2}


def last(dim: int, x: Any) -> bool:
    return x.ndim > 0 and dim in (-1, x.ndim - 1)


@leaf("softmax", "_softmax")
def softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    return ops.softmax(x) if not half_to_float and last(dim, x) and fits("softmax", x) else NotImplemented


@leaf("softmax", "_softmax_backward_data")
def softmax_backward(d_out: Any, out: Any, dim: int, input_dtype: Any) -> Any:
    if _rows_fit("softmax_backward", d_out, out, dim, input_dtype):
        return ops.softmax_backward(d_out, out)
    return NotImplemented


@leaf("softmax", "_log_softmax")
def log_softmax(x: Any, dim: int, half_to_float: bool) -> Any:
    return (
        ops.log_softmax(x)
        if not half_to_float and last(dim, x) and fits("log_softmax", x)
        else NotImplemented
    )


@leaf("softmax", "_log_softmax_backward_data")
def log_softmax_backward(d_out: Any, out: Any, dim: int, input_dtype: Any) -> Any:
    if _rows_fit("log_softmax_backward", d_out, out, dim, input_dtype):
        return ops.log_softmax_backward(d_out, out)
    return NotImplemented


def _rows_fit(name: str, d_out: Any, out: Any, dim: int, input_dtype: Any) -> bool:
    return (
        fits(name, out)
        and last(dim, out)
        and d_out.dtype == out.dtype == input_dtype
        and d_out.shape == out.shape
        and d_out.is_contiguous()
        and plain(d_out)
    )


def affine(x: Any, shape: Sequence[int], *parameters: Any) -> bool:
    """Whether a norm is over the last dimension, with parameters of the input's type."""
    if x.ndim == 0 or len(shape) != 1 or shape[0] != x.shape[-1]:
        return False
    for p in parameters:
        if p is not None and (p.dtype != x.dtype or p.ndim != 1 or p.shape[0] != shape[0] or not p.is_contiguous()):
            return False
    return plain(*parameters)


@composite("normalization", "layer_norm")
def layer_norm(
    x: Any,
    normalized_shape: Sequence[int],
    weight: Any = None,
    bias: Any = None,
    eps: float = 1e-5,
    cudnn_enable: bool = True,
) -> Any:
    if fits("layer_norm", x) and eps > 0 and affine(x, normalized_shape, weight, bias):
        return ops.layer_norm(x, weight, bias, eps)
    return NotImplemented


@composite("normalization", "rms_norm")
def rms_norm(x: Any, normalized_shape: Sequence[int], weight: Any = None, eps: Any = None) -> Any:
    if eps is None:  # torch computes half types in float32, and takes that type's epsilon
        eps = 2.0**-23
    if fits("rms_norm", x) and eps > 0 and affine(x, normalized_shape, weight):
        return ops.rms_norm(x, weight, eps)
    return NotImplemented


@composite("cross_entropy", "cross_entropy_loss")
def cross_entropy(
    logits: Any,
    targets: Any,
    weight: Any = None,
    reduction: int = 1,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
    *,
    force: bool = False,
) -> Any:
    if (
        logits.ndim != 2
        or weight is not None
        or reduction not in _REDUCTIONS
        or not 0.0 <= label_smoothing <= 1.0
        or targets.dtype != torch.int64
        or targets.shape != logits.shape[:1]
        or not fits("cross_entropy", logits, force)
        or not targets.is_contiguous()
        or not plain(targets)
        or not _targets_in_range(targets, logits.shape[1], ignore_index)
    ):
        return NotImplemented
    return ops.cross_entropy(logits, targets, _REDUCTIONS[reduction], label_smoothing, ignore_index)


def _targets_in_range(targets: Any, classes: int, ignore_index: int) -> bool:
    """torch raises for a target outside of the classes; what it says is left to it."""
    least, most = torch.aminmax(targets)
    if least >= 0 and most < classes:
        return True
    outside = (targets < 0) | (targets >= classes)
    return not bool((outside & (targets != ignore_index)).any())
