"""cross_entropy for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ingot._overrides.dispatch import composite
from ingot._overrides.limits import fits, limits, plain
from ingot._patch_rules import patches
from ingot._torch.describe import choice, count_dimensions, float32, like, operator

OPS = ("cross_entropy",)
NN = ("CrossEntropyLoss",)
REDUCTIONS = {"mean": 0, "sum": 1, "none": 2}


@operator
class Backward:
    schema = ("cross_entropy_backward(Tensor d_loss, Tensor logits, Tensor targets, int reduction=0,"
              " float label_smoothing=0.0, int ignore_index=-100) -> Tensor")

    def fake(d_loss, logits, targets, reduction, label_smoothing, ignore_index):
        return like(logits)

    def formula(d_loss, logits, targets, reduction, label_smoothing, ignore_index):
        counted = targets != ignore_index
        wanted = F.one_hot(torch.where(counted, targets, 0).long(), logits.shape[1]).to(logits.dtype)
        wanted = wanted * (1 - label_smoothing) + label_smoothing / logits.shape[1]
        per_row = d_loss / counted.sum() if reduction == 0 else d_loss
        factor = torch.where(counted, per_row, 0).unsqueeze(1)
        return (torch.softmax(logits, 1) - wanted) * factor


@operator
class Forward:
    schema = ("cross_entropy(Tensor logits, Tensor targets, int reduction=0, float label_smoothing=0.0,"
              " int ignore_index=-100) -> Tensor")
    autocast = float32("logits")

    def fake(logits, targets, reduction, label_smoothing, ignore_index):
        return logits.new_empty((logits.shape[0],) if reduction == 2 else ())

    def setup(ctx, inputs, output):
        logits, targets, *ctx.options = inputs
        ctx.save_for_backward(logits, targets)

    def backward(ctx, d_loss):
        logits, targets = ctx.saved_tensors
        d_logits = Backward.direct(d_loss.float(), logits, targets, *ctx.options)
        return d_logits, None, None, None, None


_cross_entropy = Forward.direct


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


class CrossEntropyLoss(nn.CrossEntropyLoss):
    """torch.nn.CrossEntropyLoss with class numbers as targets. Class weights are refused."""

    def __init__(self, weight: Tensor | None = None, *args: Any, **kwargs: Any) -> None:
        if weight is not None:
            raise ValueError("ingot.nn.CrossEntropyLoss has no class weights; use torch.nn.CrossEntropyLoss")
        super().__init__(None, *args, **kwargs)

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """logits [N, V] or [N, V, d1, …], targets [N] or [N, d1, …]."""
        if targets.is_floating_point():
            raise ValueError("ingot.nn.CrossEntropyLoss takes class numbers, but the targets are probabilities "
                             f"({targets.dtype}); use torch.nn.CrossEntropyLoss")
        return cross_entropy(logits, targets, reduction=self.reduction, label_smoothing=self.label_smoothing,
                             ignore_index=self.ignore_index)


limits("cross_entropy", "cross_entropy")
_TORCH_REDUCTIONS = {1: 0, 2: 1, 0: 2}  # torch's numbers, to ingot's


@composite("cross_entropy", "cross_entropy_loss")
def override(logits: Any, targets: Any, weight: Any = None, reduction: int = 1, ignore_index: int = -100,
             label_smoothing: float = 0.0, *, force: bool = False) -> Any:
    if (
        logits.ndim != 2
        or weight is not None
        or reduction not in _TORCH_REDUCTIONS
        or not 0.0 <= label_smoothing <= 1.0
        or targets.dtype != torch.int64
        or targets.shape != logits.shape[:1]
        or not fits("cross_entropy", logits, force)
        or not targets.is_contiguous()
        or not plain(targets)
        or not _targets_in_range(targets, logits.shape[1], ignore_index)
    ):
        return NotImplemented
    return Forward(logits, targets, _TORCH_REDUCTIONS[reduction], label_smoothing, ignore_index)


def _targets_in_range(targets: Any, classes: int, ignore_index: int) -> bool:
    """torch raises for a target outside of the classes; what it says is left to it."""
    least, most = torch.aminmax(targets)
    if least >= 0 and most < classes:
        return True
    outside = (targets < 0) | (targets >= classes)
    return not bool((outside & (targets != ignore_index)).any())


@patches(nn.CrossEntropyLoss, "cross_entropy", "cross_entropy")
def patched(self: Any, logits: Any, targets: Any) -> Any:
    reduction = {"none": 0, "mean": 1, "sum": 2}[self.reduction]
    return override(logits, targets, self.weight, reduction, self.ignore_index, self.label_smoothing,
                    force=self._ingot_always)
