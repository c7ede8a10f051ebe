"""Operations over rows: norms, softmax, log_softmax and cross entropy."""
from __future__ import annotations

from torch import Tensor

from ingot.ops.direct import direct
from ingot.ops.names import REDUCTIONS, choice, count_dimensions

_rms_norm, _add_rms_norm, _layer_norm = direct("rms_norm"), direct("add_rms_norm"), direct("layer_norm")
_softmax, _log_softmax, _cross_entropy = direct("softmax"), direct("log_softmax"), direct("cross_entropy")


def rms_norm(x: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    """x / sqrt(mean(x²) + eps) * weight over the last dimension.

    x: [..., C]. weight: [C], of x's type or float32. Returns [..., C] of x's type.
    """
    return _rms_norm(x, weight, eps)


def add_rms_norm(x: Tensor, residual: Tensor, weight: Tensor | None = None,
                 eps: float = 1e-6) -> tuple[Tensor, Tensor]:
    """The residual connection and the norm after it, in one pass over memory.

    x, residual: [..., C]. Returns (rms_norm(x + residual), x + residual).
    """
    return _add_rms_norm(x, residual, weight, eps)


def layer_norm(x: Tensor, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5) -> Tensor:
    """(x - mean) / sqrt(variance + eps) * weight + bias over the last dimension.

    x: [..., C]. weight, bias: [C], of x's type or float32. Returns [..., C] of x's type.
    """
    return _layer_norm(x, weight, bias, eps)


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


def log_softmax(x: Tensor, dim: int = -1) -> Tensor:
    """x - log(sum(exp(x))) over a dimension."""
    if dim not in (-1, count_dimensions("log_softmax", "x", x) - 1):
        return _log_softmax(x.movedim(dim, -1)).movedim(-1, dim)
    return _log_softmax(x)


def _loss(logits: Tensor, targets: Tensor, reduction: int, label_smoothing: float, ignore_index: int) -> Tensor:
    try:
        return _cross_entropy(logits, targets, reduction, label_smoothing, ignore_index)
    except RuntimeError as error:  # the dispatcher knows no other kind
        if "is out of bounds" in str(error):
            raise IndexError(str(error)) from None
        raise


def cross_entropy(logits: Tensor, targets: Tensor, *, reduction: str = "mean", label_smoothing: float = 0.0,
                  ignore_index: int = -100) -> Tensor:
    """The loss of logits and class numbers, as torch.nn.functional.cross_entropy.

    logits: [N, V], [V], or [N, V, d1, …]; targets: int32 or int64 of the same shape without V.
    reduction: "mean" (over the targets that are not ignored), "sum" or "none" (the targets' shape).
    A target that is no class is an IndexError on the CPU, as in torch; on a GPU its loss is NaN.
    """
    code = choice("cross_entropy", "reduction", reduction, REDUCTIONS)
    dimensions = count_dimensions("cross_entropy", "logits", logits)
    if dimensions == 2:
        return _loss(logits, targets, code, label_smoothing, ignore_index)
    if dimensions == 0 or count_dimensions("cross_entropy", "targets", targets) != dimensions - 1:
        raise ValueError(f"cross_entropy: logits of shape {tuple(logits.shape)} need targets of one dimension less, "
                         f"but they have shape {tuple(targets.shape)}")
    rows = logits.unsqueeze(0) if dimensions == 1 else logits.movedim(1, -1).flatten(0, -2)
    loss = _loss(rows, targets.reshape(-1), code, label_smoothing, ignore_index)
    return loss.reshape(targets.shape) if reduction == "none" else loss
