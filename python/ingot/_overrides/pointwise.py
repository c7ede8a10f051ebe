"""silu and gelu, and their gradients."""

from __future__ import annotations

from typing import Any

import torch

from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import fits, plain

ops = torch.ops.ingot


def _gradient_fits(name: str, d_out: Any, x: Any) -> bool:
    return (
        fits(name, x)
        and d_out.dtype == x.dtype
        and d_out.is_contiguous()
        and d_out.shape == x.shape
        and plain(d_out)
    )


@leaf("activations", "silu")
def silu(x: Any) -> Any:
    return ops.silu(x) if fits("silu", x) else NotImplemented


@leaf("activations", "silu_backward")
def silu_backward(d_out: Any, x: Any) -> Any:
    return ops.silu_backward(d_out, x) if _gradient_fits("silu_backward", d_out, x) else NotImplemented


@leaf("activations", "gelu")
def gelu(x: Any, *, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return ops.gelu_tanh(x) if fits("gelu_tanh", x) else NotImplemented
    return ops.gelu(x) if approximate == "none" and fits("gelu", x) else NotImplemented


@leaf("activations", "gelu_backward")
def gelu_backward(d_out: Any, x: Any, *, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return (
            ops.gelu_tanh_backward(d_out, x)
            if _gradient_fits("gelu_tanh_backward", d_out, x)
            else NotImplemented
        )
    if approximate == "none" and _gradient_fits("gelu_backward", d_out, x):
        return ops.gelu_backward(d_out, x)
    return NotImplemented
