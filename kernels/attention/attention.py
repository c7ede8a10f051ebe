"""attention for PyTorch; see python/ingot/_torch/describe.py.

It can be differentiated twice. Overrides of the kernels that torch has for scaled_dot_product_attention on the CPU.
"""
from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from ingot._operations.attention_backward import AttentionBackward
from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import limits, plain, within
from ingot._torch.describe import lower, operator, refuse_gradient_of

OPS = ("attention",)
NN = ("alibi_slopes",)


@operator
class Attention:
    """q, k and v have a gradient; the mask, the slopes and lse have none."""

    schema = ("attention(Tensor q, Tensor k, Tensor v, Tensor? mask=None, Tensor? slopes=None, float scale=0.0,"
              " bool causal=False, int window=0) -> (Tensor, Tensor)")
    autocast = lower("q", "k", "v", followers=("mask",))

    def fake(q, k, v, mask, slopes, scale, causal, window):
        rows = q.shape[:-1]
        return q.new_empty((*rows, v.shape[-1])), q.new_empty(rows, dtype=torch.float32)

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
        return (*AttentionBackward(d_out, *ctx.saved_tensors, *ctx.options), None, None, None, None, None)


_attention = Attention.direct


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


def alibi_slopes(heads: int) -> Tensor:
    """The slopes of ALiBi for `heads` heads, float32 [heads]: powers of 2^(-8 / heads), as its paper chooses them."""
    power = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (index + 1) / power) for index in range(power)]
    rest = [2 ** (-8 * (2 * index + 1) / (2 * power)) for index in range(heads - power)]
    return torch.tensor(first + rest, dtype=torch.float32)


# ---- overrides -------------------------------------------------------------------------------------------

limits("attention", "attention", "attention_decode", "attention_backward", "attention_backward_causal")


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


@leaf("attention", "_scaled_dot_product_flash_attention_for_cpu",
      original="_ZN2at3cpu43_scaled_dot_product_flash_attention_for_cpuERKNS_6TensorES3_S3_dbRKSt8optionalIS1_ES4_IdE")
def override(
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
    out, lse = Attention(query, key, value, attn_mask, None, scale or 0.0, is_causal, 0)
    return _like(out, query), lse.transpose(1, 2).contiguous().transpose(1, 2)


@leaf("attention", "_scaled_dot_product_flash_attention_for_cpu_backward")
def override_backward(
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
    gradients = AttentionBackward(
        grad_out, query, key, value, out, logsumexp.contiguous(), attn_mask, None, scale or 0.0, is_causal, 0
    )
    return tuple(_heads_inside(gradient) for gradient in gradients)
