"""Bags of embeddings."""
from __future__ import annotations

from torch import Tensor

from ingot.ops.direct import direct
from ingot.ops.names import BAG_MODES, choice, count_dimensions

_embedding_bag = direct("embedding_bag")


def embedding_bag(indices: Tensor, table: Tensor, offsets: Tensor | None = None, *, mode: str = "mean",
                  per_sample_weights: Tensor | None = None, include_last_offset: bool = False,
                  padding_idx: int | None = None) -> Tensor:
    """Rows of a table, looked up and reduced bag by bag, as torch.nn.functional.embedding_bag.

    table: [v, d]. indices: int32 or int64, [bags, length], or [n] with offsets [bags] where each bag starts (and
    n at the end with include_last_offset). mode: "sum", "mean" or "max". per_sample_weights: like indices, of the
    table's type, with "sum" only. padding_idx: an index that does not count. Returns [bags, d].
    """
    code = choice("embedding_bag", "mode", mode, BAG_MODES)
    dimensions = count_dimensions("embedding_bag", "indices", indices)
    if dimensions == 2 and offsets is not None:
        raise ValueError("embedding_bag: offsets go with indices of 1 dimension, but indices have 2")
    if dimensions == 1 and offsets is None:
        raise ValueError("embedding_bag: indices of 1 dimension need offsets")
    if offsets is not None and offsets.dtype != indices.dtype:
        offsets = offsets.to(indices.dtype)
    return _embedding_bag(table, indices, offsets, per_sample_weights, code, include_last_offset, padding_idx)[0]
