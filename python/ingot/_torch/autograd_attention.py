"""Gradients of attention and rope. Attention can be differentiated twice, by the full matrix of scores."""
from __future__ import annotations

import math

import torch
from torch import Tensor

from ingot._torch.registry import (differentiate, differentiate_by, operator, refuse_gradient,
                                   refuse_gradient_of)


def register() -> None:
    """Registers the gradients."""
    register_attention()
    register_rope()
    refuse_gradient("attention_paged", "it serves decoding; use ingot.ops.attention for training")


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


def attention_gradients(d_out, q, k, v, out, lse, mask, slopes, scale, causal, window):
    """attention_backward from differentiable operators; out and lse are computed again."""
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


def register_attention() -> None:
    """q, k and v; the mask and the slopes have no gradient, nor has lse."""
    backward_operator = operator("attention_backward")

    def setup(ctx, inputs, output):
        q, k, v, mask, slopes, *ctx.options = inputs
        refuse_gradient_of("attention", "mask", mask)
        refuse_gradient_of("attention", "slopes", slopes)
        ctx.save_for_backward(q, k, v, *output, mask, slopes)
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)

    def backward(ctx, d_out, d_lse):
        if d_out is None:
            return (None,) * 8
        return (*backward_operator(d_out, *ctx.saved_tensors, *ctx.options), None, None, None, None, None)

    differentiate("attention", backward, setup)
    differentiate_by("attention_backward", attention_gradients, 8)


def register_rope() -> None:
    """Rope is linear in x: its gradient is the rotation back, whose gradient is rope."""

    def register_one(name: str, opposite: str) -> None:
        turn_back = operator(opposite)

        def setup(ctx, inputs, output):
            _, positions, cos, sin, *ctx.options = inputs
            refuse_gradient_of(name, "cos", cos)
            refuse_gradient_of(name, "sin", sin)
            ctx.save_for_backward(positions, cos, sin)

        def backward(ctx, d_out):
            return (turn_back(d_out, *ctx.saved_tensors, *ctx.options), *(None,) * 8)

        differentiate(name, backward, setup)

    register_one("rope", "rope_backward")
    register_one("rope_backward", "rope")
