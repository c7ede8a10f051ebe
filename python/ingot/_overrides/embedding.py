"""embedding_bag: sums and means."""

from __future__ import annotations

from typing import Any

import torch

from ingot._overrides.dispatch import leaf, native
from ingot._overrides.limits import plain, within

ops = torch.ops.ingot
SUM, MEAN = 0, 1


def bags_fit(indices: Any, offsets: Any, rows: int | None, bags: int, last: bool = False) -> bool:
    """Whether torch would accept these: it raises for what ingot would only leave out.

    rows: how many the table has; None, and the indices are not looked at. last: the offsets end with the end.
    """
    if (
        not plain(indices, offsets)
        or indices.dtype != offsets.dtype
        or indices.dtype not in (torch.int32, torch.int64)
    ):
        return False
    if indices.ndim != 1 or offsets.ndim != 1 or not indices.is_contiguous() or not offsets.is_contiguous():
        return False
    if bags < 1 or int(offsets[0]) != 0:
        return False
    if int(offsets[-1]) > indices.numel() or (last and int(offsets[-1]) != indices.numel()):
        return False
    if rows is not None:
        least, most = torch.aminmax(indices)
        if least < 0 or most >= rows:
            return False
    return bool((offsets[1:] >= offsets[:-1]).all())


native("embedding_bag", "_embedding_bag")
native("embedding_bag", "_embedding_bag_forward_only")


@leaf("embedding_bag", "_embedding_bag_backward")
def embedding_bag_backward(
    grad: Any,
    indices: Any,
    offsets: Any,
    offset2bag: Any,
    bag_size: Any,
    maximum_indices: Any,
    num_weights: int,
    scale_grad_by_freq: bool,
    mode: int,
    sparse: bool,
    per_sample_weights: Any,
    padding_idx: int = -1,
) -> Any:
    bags = grad.shape[0]
    if (
        sparse
        or scale_grad_by_freq
        or per_sample_weights is not None
        or mode not in (SUM, MEAN)
        or padding_idx >= 0
        or offsets.numel() not in (bags, bags + 1)
        or not within("embedding_bag_backward", grad.dtype, indices.numel() * grad.shape[1])
        or not plain(grad)
        or not bags_fit(indices, offsets, num_weights, bags)
    ):
        return NotImplemented
    table = grad.new_empty(num_weights, grad.shape[1])  # for its shape: nothing reads it
    last = offsets.numel() == bags + 1
    return ops.embedding_bag_backward(
        grad.contiguous(),
        table,
        indices,
        offsets,
        None,
        indices.new_empty(0, dtype=torch.int32),
        mode,
        last,
        None,
    )[0]
