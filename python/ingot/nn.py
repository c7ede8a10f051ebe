"""Modules that stand for torch.nn's, computed by ingot.

Those with a counterpart in torch.nn are subclasses of it: constructor, parameters, state_dict and repr are torch's,
only forward differs. They come from the descriptions of the operations, kernels/NAME/NAME.py. Here are the parts of
transformers that are made of several operations.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ingot import ops
from ingot._operations import exported_nn as _described
from ingot._operations.exported_nn import *  # noqa: F403
from ingot._torch.exports import adopt as _adopt

__all__ = ["Attention", "SwiGLU"]
__all__ += _described.__all__
_adopt("ingot.nn", globals(), _described.__all__)


class SwiGLU(nn.Module):
    """down_proj(silu(gate_proj(x)) * up_proj(x)): the feed-forward part of Llama and its like, by its names."""

    def __init__(self, features: int, hidden_features: int, bias: bool = False, device: Any = None,
                 dtype: torch.dtype | None = None) -> None:
        super().__init__()
        options = {"bias": bias, "device": device, "dtype": dtype}
        self.gate_proj = _described.Linear(features, hidden_features, **options)
        self.up_proj = _described.Linear(features, hidden_features, **options)
        self.down_proj = _described.Linear(hidden_features, features, **options)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., features] to the same shape."""
        return self.down_proj(ops.silu_mul(self.gate_proj(x), self.up_proj(x)))


class Attention(nn.Module):
    """Self-attention with grouped heads: q_proj, k_proj, v_proj and o_proj, as Llama and its like name them.

    rope: a RotaryEmbedding for queries and keys, or None. kv_heads: heads of keys and values, heads if None.
    """

    def __init__(self, features: int, heads: int, kv_heads: int | None = None, head_features: int | None = None,
                 bias: bool = False, rope: nn.Module | None = None, window: int | None = None,
                 device: Any = None, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        kv_heads = heads if kv_heads is None else kv_heads
        if heads % kv_heads:
            raise ValueError(f"ingot.nn.Attention: {heads} heads cannot share {kv_heads} heads of keys evenly")
        if head_features is None and features % heads:
            raise ValueError(f"ingot.nn.Attention: {features} features cannot be split into {heads} heads")
        size = features // heads if head_features is None else head_features
        self.heads, self.kv_heads, self.head_features, self.window, self.rope = heads, kv_heads, size, window, rope
        options = {"bias": bias, "device": device, "dtype": dtype}
        self.q_proj = _described.Linear(features, heads * size, **options)
        self.k_proj = _described.Linear(features, kv_heads * size, **options)
        self.v_proj = _described.Linear(features, kv_heads * size, **options)
        self.o_proj = _described.Linear(heads * size, features, **options)

    def forward(self, x: Tensor, mask: Tensor | None = None, causal: bool = True, positions: Tensor | None = None,
                cache: tuple[Tensor, Tensor] | None = None) -> Tensor | tuple[Tensor, tuple[Tensor, Tensor]]:
        """x [B, S, features] to the same shape; with a cache, to (output, new cache).

        cache: keys and values of what came before, [B, kv_heads, T, head_features] each; T may be 0.
        """
        batch, rows, _ = x.shape
        q = self.q_proj(x).view(batch, rows, self.heads, self.head_features).transpose(1, 2)
        k = self.k_proj(x).view(batch, rows, self.kv_heads, self.head_features).transpose(1, 2)
        v = self.v_proj(x).view(batch, rows, self.kv_heads, self.head_features).transpose(1, 2)
        before = 0 if cache is None else cache[0].shape[2]
        if self.rope is not None:
            offset = before if positions is None else 0
            q, k = self.rope(q, positions, offset), self.rope(k, positions, offset)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        out = ops.attention(q, k, v, mask=mask, causal=causal, window=self.window)
        out = self.o_proj(out.transpose(1, 2).reshape(batch, rows, self.heads * self.head_features))
        return out if cache is None else (out, (k, v))
