"""Attention, its paged cache, and rotary position embedding."""
from __future__ import annotations

import torch
from torch import Tensor

from ingot.ops.direct import direct

_ops = torch.ops.ingot
_attention, _attention_paged, _rope = direct("attention"), direct("attention_paged"), direct("rope")


def attention(q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False,
              window: int | None = None, alibi_slopes: Tensor | None = None, scale: float | None = None) -> Tensor:
    """softmax(scale * q kᵀ + bias) v, without storing the scores.

    q: [B, Hq, S, D]; k: [B, Hkv, T, D]; v: [B, Hkv, T, Dv]; Hq is a multiple of Hkv (grouped heads). D and Dv are
    at most 256. Returns [B, Hq, S, Dv]. Query i stands at position i + T - S. A query that sees no key gives 0.

    mask: lined up from the right with [B, Hq, S, T], sizes of 1 broadcast; bool (True is seen), or added to the
    scores, float32 or of q's type. causal: keys up to the query's position. window: keys less than `window`
    positions away. alibi_slopes: float32 [Hq] or [B, Hq]; adds -slope * distance. scale: 1 / sqrt(D) if None.
    Gradients go to q, k and v; a mask that requires one is refused.
    """
    if scale is not None and scale == 0:
        raise ValueError("attention: scale is 0; leave it out (None) for 1 / sqrt(D)")
    return _attention(q, k, v, mask, alibi_slopes, scale or 0.0, causal, window or 0)[0]


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
    _ops.cache_write_.default(key, value, slots, key_cache, value_cache)


def cache_copy_(key_cache: Tensor, value_cache: Tensor, pairs: Tensor) -> None:
    """Copies whole blocks within the caches. pairs: int64 [n, 2] of (from, to) block numbers, in order."""
    _ops.cache_copy_.default(key_cache, value_cache, pairs)


def rope(x: Tensor, positions: Tensor | None = None, *, cos: Tensor | None = None, sin: Tensor | None = None,
         offset: int = 0, dims: int | None = None, interleaved: bool = False, base: float = 10000.0,
         scale: float = 1.0) -> Tensor:
    """Rotary position embedding of x [B, H, S, D].

    Pair i of the first `dims` elements (D if None) turns by position * scale * base^(-2i / dims); pairs are
    (i, i + dims/2), or (2i, 2i + 1) when interleaved. The position of row s is offset + s, or offset +
    positions[…, s] with positions [S] or [B, S], int32 or int64. With tables cos and sin [positions, dims/2],
    float32 or of x's type, the angles are theirs and base and scale are not used.
    """
    return _rope(x, positions, cos, sin, offset, dims or 0, interleaved, base, scale)
