"""attention over a paged cache, and the cache, for PyTorch; see python/ingot/_torch/describe.py.

It runs in the type of its cache, which autocast must not change.
"""
from __future__ import annotations

from torch import Tensor

from ingot._torch.describe import operator

OPS = ("attention_paged", "cache_copy", "cache_copy_", "cache_write", "cache_write_")


@operator
class Paged:
    schema = ("attention_paged(Tensor q, Tensor key_cache, Tensor value_cache, Tensor block_table, Tensor lengths,"
              " Tensor? slopes=None, float scale=0.0, int window=0, int max_length=0) -> Tensor")
    no_gradient = "it serves decoding; use ingot.ops.attention for training"

    def fake(q, key_cache, value_cache, block_table, lengths, slopes, scale, window, max_length):
        return q.new_empty((*q.shape[:-1], value_cache.shape[-1]))


@operator
class CacheWrite:
    schema = ("cache_write_(Tensor key, Tensor value, Tensor slots, Tensor(a!) key_cache, Tensor(b!) value_cache)"
              " -> ()")


@operator
class CacheCopy:
    schema = "cache_copy_(Tensor(a!) key_cache, Tensor(b!) value_cache, Tensor pairs) -> ()"
    on_host = ("pairs",)


_attention_paged = Paged.direct


def attention_paged(q: Tensor, key_cache: Tensor, value_cache: Tensor, block_table: Tensor, lengths: Tensor, *,
                    alibi_slopes: Tensor | None = None, scale: float | None = None, window: int | None = None,
                    max_length: int | None = None) -> Tensor:
    """Causal attention of new queries over a paged cache, for decoding.

    q: [B, Hq, S, D], the last S positions of each sequence. key_cache: [blocks, Hkv, block, D]; value_cache:
    [blocks, Hkv, block, Dv]. block_table: int32 [B, max_blocks]; lengths: int32 [B], new positions included.
    max_length: the longest of `lengths` where it is known. Returns [B, Hq, S, Dv]. It has no gradient.
    """
    if scale is not None and scale == 0:
        raise ValueError("attention_paged: scale is 0; leave it out (None) for 1 / sqrt(D)")
    return _attention_paged(q, key_cache, value_cache, block_table, lengths, alibi_slopes, scale or 0.0,
                            window or 0, max_length or 0)


def cache_write_(key: Tensor, value: Tensor, slots: Tensor, key_cache: Tensor, value_cache: Tensor) -> None:
    """Writes the rows of new tokens into a paged cache.

    key: [tokens, Hkv, D]; value: [tokens, Hkv, Dv]; slots: int32 or int64 [tokens], block number * block + position
    in the block; negative slots are left out. The caches are as in attention_paged.
    """
    CacheWrite(key, value, slots, key_cache, value_cache)


def cache_copy_(key_cache: Tensor, value_cache: Tensor, pairs: Tensor) -> None:
    """Copies whole blocks within the caches. pairs: int64 [n, 2] of (from, to) block numbers, in order."""
    CacheCopy(key_cache, value_cache, pairs)


cache_write, cache_copy = cache_write_, cache_copy_
