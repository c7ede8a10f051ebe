"""The gradients of attention for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from ingot._torch.describe import like, operator


def attention_scores(q: Tensor, k: Tensor, mask: Tensor | None, slopes: Tensor | None, scale: float,
                     causal: bool, window: int) -> Tensor:
    """The scores [B, Hkv, G, S, T] before softmax, with -infinity where a key is not seen."""
    batch, heads, rows, size = q.shape
    key_heads, columns = k.shape[1], k.shape[2]
    shape = (batch, key_heads, heads // key_heads, rows, columns)
    grouped = q.reshape(batch, key_heads, heads // key_heads, rows, size)
    scores = (grouped @ k.unsqueeze(2).transpose(-1, -2)) * (scale or 1 / math.sqrt(size))
    position = torch.arange(rows, device=q.device).unsqueeze(1) + (columns - rows)
    distance = position - torch.arange(columns, device=q.device)
    if slopes is not None:
        scores = scores - slopes.reshape(-1, key_heads, shape[2], 1, 1) * distance.abs()
    if mask is not None:
        full = mask.expand(batch, heads, rows, columns).reshape(shape)
        scores = scores.masked_fill(~full, -math.inf) if mask.dtype == torch.bool else scores + full
    if causal:
        scores = scores.masked_fill(distance < 0, -math.inf)
    if window > 0:
        scores = scores.masked_fill(distance.abs() >= window, -math.inf)
    return scores


@operator
class AttentionBackward:
    """Differentiated again, it goes by the full matrix of scores."""

    schema = ("attention_backward(Tensor d_out, Tensor q, Tensor k, Tensor v, Tensor out, Tensor lse,"
              " Tensor? mask=None, Tensor? slopes=None, float scale=0.0, bool causal=False, int window=0)"
              " -> (Tensor, Tensor, Tensor)")

    def fake(d_out, q, k, v, out, lse, mask, slopes, scale, causal, window):
        return like(q), like(k), like(v)

    def formula(d_out, q, k, v, out, lse, mask, slopes, scale, causal, window):
        # out and lse are computed again
        scale = scale or 1 / math.sqrt(q.shape[-1])
        batch, heads, rows, size = q.shape
        key_heads = k.shape[1]
        grouped = (batch, key_heads, heads // key_heads, rows)
        scores = attention_scores(q, k, mask, slopes, scale, causal, window)
        largest = scores.detach().amax(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).min)
        exponents = torch.exp(scores - largest)
        weights = exponents / exponents.sum(-1, keepdim=True).clamp_min(torch.finfo(scores.dtype).tiny)
        d_grouped = d_out.reshape(*grouped, v.shape[-1])
        d_weights = d_grouped @ v.unsqueeze(2).transpose(-1, -2)
        d_scores = weights * (d_weights - (weights * d_weights).sum(-1, keepdim=True)) * scale
        d_q = (d_scores @ k.unsqueeze(2)).reshape(q.shape)
        d_k = (d_scores.transpose(-1, -2) @ q.reshape(*grouped, size)).sum(2)
        d_v = (weights.transpose(-1, -2) @ d_grouped).sum(2)
        return d_q, d_k, d_v
