"""scaled_dot_product_attention: the kernels that torch has for it on the CPU."""

from __future__ import annotations

from typing import Any

import torch

from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import plain, within

ops = torch.ops.ingot


def _attention_fits(
    name: str, q: Any, k: Any, v: Any, dropout_p: float, is_causal: bool, mask: Any, scale: float | None
) -> bool:
    if dropout_p or not q.dtype == k.dtype == v.dtype or q.ndim != 4 or not plain(q, k, v, mask):
        return False
    batch, heads, queries, width = q.shape
    keys = k.shape[2]
    # torch's causal mask starts at the first key, ingot's ends at the last: the same for a square.
    if is_causal and queries != keys:
        return False
    if k.ndim != 4 or v.shape[:3] != k.shape[:3] or k.shape[0] != batch or k.shape[3] != width:
        return False
    if not k.shape[1] or heads % k.shape[1] or not 0 < width <= 256 or v.shape[3] > 256:
        return False
    if q.stride(-1) != 1 or k.stride(-1) != 1 or v.stride(-1) != 1 or scale == 0:
        return False
    if mask is not None and mask.dtype not in (torch.bool, torch.float32, q.dtype):
        return False
    return within(name, q.dtype, batch * heads * queries * keys)


def _like(out: Any, wanted: Any) -> Any:
    """out with the strides of torch.empty_like(wanted)."""
    target = torch.empty_like(wanted)
    return out if out.stride() == target.stride() else target.copy_(out)


def _heads_inside(x: Any) -> Any:
    """The same values with memory in the order of dimensions 0, 2, 1, 3."""
    return x.transpose(1, 2).contiguous().transpose(1, 2)


@leaf("attention", "_scaled_dot_product_flash_attention_for_cpu")
def attention(
    query: Any,
    key: Any,
    value: Any,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    if query.ndim != 4 or value.shape[-1] != query.shape[-1]:
        return NotImplemented
    name = "attention_decode" if query.shape[2] == 1 else "attention"
    if not _attention_fits(name, query, key, value, dropout_p, is_causal, attn_mask, scale):
        return NotImplemented
    out, lse = ops.attention(query, key, value, attn_mask, None, scale or 0.0, is_causal, 0)
    return _like(out, query), lse.transpose(1, 2).contiguous().transpose(1, 2)


@leaf("attention", "_scaled_dot_product_flash_attention_for_cpu_backward")
def attention_backward(
    grad_out: Any,
    query: Any,
    key: Any,
    value: Any,
    out: Any,
    logsumexp: Any,
    dropout_p: float,
    is_causal: bool,
    *,
    attn_mask: Any = None,
    scale: float | None = None,
) -> Any:
    name = "attention_backward_causal" if is_causal else "attention_backward"
    if not plain(grad_out, out, logsumexp) or grad_out.dtype != query.dtype:
        return NotImplemented
    if not _attention_fits(name, query, key, value, dropout_p, is_causal, attn_mask, scale):
        return NotImplemented
    gradients = ops.attention_backward(
        grad_out, query, key, value, out, logsumexp.contiguous(), attn_mask, None, scale or 0.0, is_causal, 0
    )
    return tuple(_heads_inside(gradient) for gradient in gradients)
