"""Operators that PyTorch composes from others where the device needs a kernel of its own."""
from __future__ import annotations

import functools

import torch

from ingot.mps.dispatch import run_on_cpu

_aten = torch.ops.aten
# Composed, these answer in other types than the kernels of CPU and MPS when x is half and the weight is not.
_ON_CPU = ("native_layer_norm", "native_group_norm")
# One kernel for every device, which asks a table by device; in older versions composed of others.
_BY_TABLE = ("ldexp.Tensor", "ldexp.out", "ldexp_")


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
    for name in _ON_CPU:
        libraries[0].impl(name, functools.partial(run_on_cpu, getattr(_aten, name).default), "MPS")
    for name in _BY_TABLE:
        if torch._C._dispatch_has_kernel_for_dispatch_key(f"aten::{name}", "CompositeExplicitAutograd"):
            packet, _, overload = name.partition(".")
            operator = getattr(getattr(_aten, packet), overload or "default")
            libraries[0].impl(name, functools.partial(run_on_cpu, operator), "MPS")
    return libraries
