"""embedding_bag for PyTorch, with dense gradients; see python/ingot/_torch/describe.py.

Overrides of sums and means.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ingot._overrides.dispatch import leaf, native
from ingot._overrides.limits import limits, plain, within
from ingot._patch_rules import patches
from ingot._torch.describe import (absent, choice, count_dimensions, ctx_needs, like, like_or_absent, operator,
                                   refuse_gradient_of)

OPS = ("embedding_bag",)
NN = ("EmbeddingBag",)
SUM, MEAN, MAX = 0, 1, 2
MODES = {"sum": SUM, "mean": MEAN, "max": MAX}


@operator
class Forward:
    """The table and the sample weights have gradients."""

    schema = ("embedding_bag(Tensor table, Tensor indices, Tensor? offsets=None, Tensor? sample_weights=None,"
              " int mode=0, bool include_last_offset=False, int? padding_index=None) -> (Tensor, Tensor)")

    def fake(table, indices, offsets, sample_weights, mode, include_last_offset, padding_index):
        bags = indices.shape[0] if offsets is None else offsets.shape[0] - int(include_last_offset)
        out = table.new_empty((bags, table.shape[1]))
        largest = out.new_empty(out.shape, dtype=torch.int32) if mode == MAX else absent(table, torch.int32)
        return out, largest

    def setup(ctx, inputs, output):
        table, indices, offsets, sample_weights, *ctx.options = inputs
        ctx.save_for_backward(table, indices, offsets, sample_weights, output[1])
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    def backward(ctx, d_out, d_largest):
        if d_out is None:
            return (None,) * 7
        d_table, d_sample_weights = Backward(d_out, *ctx.saved_tensors, *ctx.options)
        return (d_table, None, None, d_sample_weights if ctx_needs(ctx, 3) else None, None, None, None)


@operator
class Backward:
    """The table's gradient is linear in d_out: its own gradient is the bags of its rows. That of the sample weights
    and that of max have none."""

    schema = ("embedding_bag_backward(Tensor d_out, Tensor table, Tensor indices, Tensor? offsets,"
              " Tensor? sample_weights, Tensor largest, int mode=0, bool include_last_offset=False,"
              " int? padding_index=None) -> (Tensor, Tensor)")

    def fake(d_out, table, indices, offsets, sample_weights, *rest):
        return like(table), like_or_absent(sample_weights, table)

    def setup(ctx, inputs, output):
        _, table, indices, offsets, sample_weights, _, *ctx.options = inputs
        refuse_gradient_of("embedding_bag_backward", "sample_weights", sample_weights)
        ctx.save_for_backward(indices, offsets, sample_weights)

    def backward(ctx, d_d_table, d_d_weights):
        if ctx.options[0] == MAX:
            raise RuntimeError("ingot::embedding_bag_backward has no gradient with mode max")
        indices, offsets, sample_weights = ctx.saved_tensors
        d_d_out, _ = Forward(d_d_table, indices, offsets, sample_weights, *ctx.options)
        return (d_d_out, *(None,) * 8)


_embedding_bag = Forward.direct


def embedding_bag(indices: Tensor, table: Tensor, offsets: Tensor | None = None, *, mode: str = "mean",
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """Rows of a table, looked up and reduced bag by bag, as torch.nn.functional.embedding_bag.

    table: [v, d]. indices: int32 or int64, [bags, length], or [n] with offsets [bags] where each bag starts (and
    n at the end with include_last_offset). mode: "sum", "mean" or "max". per_sample_weights: like indices, of the
    table's type, with "sum" only. padding_idx: an index that does not count. Returns [bags, d].
    """
    code = choice("embedding_bag", "mode", mode, MODES)
    dimensions = count_dimensions("embedding_bag", "indices", indices)
    if dimensions == 2 and offsets is not None:
        raise ValueError("embedding_bag: offsets go with indices of 1 dimension, but indices have 2")
    if dimensions == 1 and offsets is None:
        raise ValueError("embedding_bag: indices of 1 dimension need offsets")
    if offsets is not None and offsets.dtype != indices.dtype:
        offsets = offsets.to(indices.dtype)
    return _embedding_bag(table, indices, offsets, per_sample_weights, code, include_last_offset, padding_idx)[0]


class EmbeddingBag(nn.EmbeddingBag):
    """torch.nn.EmbeddingBag with dense gradients; max_norm, scale_grad_by_freq and sparse are refused."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in ("max_norm", "scale_grad_by_freq", "sparse"):
            if getattr(self, option):
                raise ValueError(f"ingot.nn.EmbeddingBag has no {option} (it is {getattr(self, option)}); use "
                                 "torch.nn.EmbeddingBag")

    def forward(self, input: Tensor, offsets: Tensor | None = None,
                per_sample_weights: Tensor | None = None) -> Tensor:
        """input [bags, length], or [n] with offsets [bags]; returns [bags, embedding_dim]."""
        return embedding_bag(input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
                                 include_last_offset=self.include_last_offset, padding_idx=self.padding_idx)


# ---- overrides: indices times row length -----------------------------------------------------------------

limits("embedding_bag", "embedding_bag", "embedding_bag_mean", "embedding_bag_backward")
native("embedding_bag", "_embedding_bag",
       original="_ZN2at3cpu14_embedding_bagERKNS_6TensorES3_S3_blbRKSt8optionalIS1_Ebl")
native("embedding_bag", "_embedding_bag_forward_only",
       original="_ZN2at3cpu27_embedding_bag_forward_onlyERKNS_6TensorES3_S3_blbRKSt8optionalIS1_Ebl")


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


@leaf("embedding_bag", "_embedding_bag_backward")
def override_backward(
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
    return Backward(
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


@patches(nn.EmbeddingBag, "embedding_bag", "embedding_bag")
def patched(self: Any, indices: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
    if self.max_norm is not None or self.sparse or self.scale_grad_by_freq or per_sample_weights is not None:
        return NotImplemented
    mode = {"sum": SUM, "mean": MEAN}.get(self.mode)
    if mode is None or self.padding_idx is not None or (indices.ndim == 2) == (offsets is not None):
        return NotImplemented
    weight, last = self.weight, bool(self.include_last_offset and offsets is not None)
    name = "embedding_bag_mean" if mode == MEAN else "embedding_bag"
    if not within(name, weight.dtype, indices.numel() * weight.shape[1], 0, self._ingot_always):
        return NotImplemented
    if not plain(weight, indices, offsets) or not weight.is_contiguous():
        return NotImplemented
    if offsets is not None and not bags_fit(indices, offsets, None, offsets.numel() - last, last):
        return NotImplemented
    try:
        return _embedding_bag(weight, indices, offsets, None, mode, last, None)[0]
    except RuntimeError:
        return NotImplemented  # an index that is none: torch is to say so
