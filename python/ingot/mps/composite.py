"""Operators that PyTorch composes from others in a way that needs a kernel of the device's own."""
from __future__ import annotations

import torch

_aten = torch.ops.aten


def _attention(
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, *, scale=None, enable_gqa=False
):
    """The composed attention: PyTorch's choice among the fused ones asks a table by device."""
    if attn_mask is not None:
        if is_causal:
            raise RuntimeError(
                "_scaled_dot_product_attention: Explicit attn_mask should not be set when is_causal=True"
            )
        if attn_mask.dtype is torch.bool:
            zero = torch.zeros((), dtype=query.dtype, device=query.device)
            attn_mask = torch.where(attn_mask, zero, float("-inf"))
    result = _aten._scaled_dot_product_attention_math(
        query, key, value, attn_mask, dropout_p, is_causal, None, scale=scale, enable_gqa=enable_gqa
    )
    return result[0]


def register() -> list[torch.library.Library]:
    """Registers them for autograd (they are made of operators that have gradients) and for inference."""
    libraries = []
    for key in ("MPS", "AutogradMPS"):
        library = torch.library.Library("aten", "IMPL", key)
        library.impl("scaled_dot_product_attention", _attention, key)
        libraries.append(library)
    return libraries
