"""embedding_bag: sums and means."""

from __future__ import annotations

from typing import Any

import torch

from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import plain, within

ops = torch.ops.ingot
SUM, MEAN = 0, 1


def _bags_fit(indices: Any, offsets: Any, rows: int, bags: int) -> bool:
    """Whether torch would accept these: it raises for what ingot would only leave out."""
    if (
        not plain(indices, offsets)
        or indices.dtype != offsets.dtype
        or indices.dtype not in (torch.int32, torch.int64)
    ):
        return False
    if indices.ndim != 1 or offsets.ndim != 1 or not indices.is_contiguous() or not offsets.is_contiguous():
        return False
    if bags < 1 or int(offsets[0]) != 0 or int(offsets[-1]) > indices.numel():
        return False
    least, most = torch.aminmax(indices)
    if least < 0 or most >= rows:
        return False
    return bool((offsets[1:] >= offsets[:-1]).all())


def takes(
    weight: Any,
    indices: Any,
    offsets: Any,
    mode: int,
    sample_weights: Any,
    last: bool,
    padding: int,
    force: bool = False,
) -> bool:
    """Whether ingot does this call, and torch would not raise for it."""
    if mode not in (SUM, MEAN) or weight.ndim != 2 or padding >= 0 or not weight.is_contiguous():
        return False
    name = "embedding_bag_mean" if mode == MEAN else "embedding_bag"
    if not within(name, weight.dtype, indices.numel() * weight.shape[1], force=force):
        return False
    if sample_weights is not None:
        if mode != SUM or sample_weights.dtype != weight.dtype or not sample_weights.is_contiguous():
            return False
    if not plain(weight, sample_weights):
        return False
    if not _bags_fit(indices, offsets, weight.shape[0], offsets.numel() - bool(last)):
        return False
    return not last or int(offsets[-1]) == indices.numel()


def _embedding_bag(
    weight: Any,
    indices: Any,
    offsets: Any,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Any = None,
    include_last_offset: bool = False,
    padding_idx: int = -1,
) -> Any:
    if not takes(weight, indices, offsets, mode, per_sample_weights, include_last_offset, padding_idx):
        return NotImplemented
    out = ops.embedding_bag(weight, indices, offsets, per_sample_weights, mode, include_last_offset, None)[0]
    ends = (
        offsets[1:]
        if include_last_offset
        else torch.cat([offsets[1:], offsets.new_tensor([indices.numel()])])
    )
    sizes = ends - offsets[: ends.numel()]
    # torch computes the bag of each index again in the backward call where this is empty.
    return out, offsets.new_empty(0), sizes, sizes.clone()


@leaf("embedding_bag", "_embedding_bag")
def embedding_bag(*args: Any, **kwargs: Any) -> Any:
    return _embedding_bag(*args, **kwargs)


@leaf("embedding_bag", "_embedding_bag_forward_only")
def embedding_bag_forward_only(*args: Any, **kwargs: Any) -> Any:
    return _embedding_bag(*args, **kwargs)


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
        or not _bags_fit(indices, offsets, num_weights, bags)
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
