"""Modules that stand for torch.nn's, computed by ingot.

Those with a counterpart in torch.nn are subclasses of it: constructor, parameters, state_dict and repr are torch's,
only forward differs. The rest are the parts that transformers are made of.
"""
from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from ingot import ops

__all__ = ["Attention", "CrossEntropyLoss", "EmbeddingBag", "GELU", "LayerNorm", "Linear", "Linear4bit", "LogSoftmax",
           "QuantisedLinear", "QuantizedLinear", "RMSNorm", "RotaryEmbedding", "SiLU", "Softmax", "SwiGLU",
           "alibi_slopes"]


def _as_rows(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """x with the normalised dimensions joined into one."""
    if tuple(x.shape[-len(shape):]) != tuple(shape):
        raise RuntimeError(f"the norm is over {list(shape)}, but the input has shape {list(x.shape)}")
    return x if len(shape) == 1 else x.flatten(-len(shape))


class RMSNorm(nn.RMSNorm):
    """torch.nn.RMSNorm. eps=None is float32's epsilon, for half types too, as there."""

    def forward(self, x: Tensor) -> Tensor:
        """x [..., *normalized_shape] to the same shape."""
        eps = torch.finfo(torch.float32).eps if self.eps is None else self.eps
        weight = None if self.weight is None else self.weight.flatten()
        return ops.rms_norm(_as_rows(x, self.normalized_shape), weight, eps).view(x.shape)


class LayerNorm(nn.LayerNorm):
    """torch.nn.LayerNorm."""

    def forward(self, x: Tensor) -> Tensor:
        """x [..., *normalized_shape] to the same shape."""
        weight = None if self.weight is None else self.weight.flatten()
        bias = None if self.bias is None else self.bias.flatten()
        return ops.layer_norm(_as_rows(x, self.normalized_shape), weight, bias, self.eps).view(x.shape)


class SiLU(nn.SiLU):
    """torch.nn.SiLU; with inplace=True the result is copied back into the input."""

    def forward(self, x: Tensor) -> Tensor:
        """Element by element."""
        return x.copy_(ops.silu(x)) if self.inplace else ops.silu(x)


class GELU(nn.GELU):
    """torch.nn.GELU, by erf or by tanh."""

    def forward(self, x: Tensor) -> Tensor:
        """Element by element."""
        return ops.gelu(x, self.approximate)


class Softmax(nn.Softmax):
    """torch.nn.Softmax; dim=None is the last dimension."""

    def forward(self, x: Tensor) -> Tensor:
        """Rows along `dim` that sum to 1."""
        return ops.softmax(x, dim=-1 if self.dim is None else self.dim)


class LogSoftmax(nn.LogSoftmax):
    """torch.nn.LogSoftmax; dim=None is the last dimension."""

    def forward(self, x: Tensor) -> Tensor:
        """The logarithm of softmax along `dim`."""
        return ops.log_softmax(x, dim=-1 if self.dim is None else self.dim)


class CrossEntropyLoss(nn.CrossEntropyLoss):
    """torch.nn.CrossEntropyLoss with class numbers as targets. Class weights are refused."""

    def __init__(self, weight: Tensor | None = None, *args: Any, **kwargs: Any) -> None:
        if weight is not None:
            raise ValueError("ingot.nn.CrossEntropyLoss has no class weights; use torch.nn.CrossEntropyLoss")
        super().__init__(None, *args, **kwargs)

    def forward(self, logits: Tensor, targets: Tensor) -> Tensor:
        """logits [N, V] or [N, V, d1, …], targets [N] or [N, d1, …]."""
        if targets.is_floating_point():
            raise ValueError("ingot.nn.CrossEntropyLoss takes class numbers, but the targets are probabilities "
                             f"({targets.dtype}); use torch.nn.CrossEntropyLoss")
        return ops.cross_entropy(logits, targets, reduction=self.reduction, label_smoothing=self.label_smoothing,
                                 ignore_index=self.ignore_index)


class EmbeddingBag(nn.EmbeddingBag):
    """torch.nn.EmbeddingBag with dense gradients; max_norm, scale_grad_by_freq and sparse are refused."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        for option in ("max_norm", "scale_grad_by_freq", "sparse"):
            if getattr(self, option):
                raise ValueError(f"ingot.nn.EmbeddingBag has no {option} (it is {getattr(self, option)}); use "
                                 "torch.nn.EmbeddingBag")

    def forward(self, input: Tensor, offsets: Tensor | None = None,
                per_sample_weights: Tensor | None = None) -> Tensor:
        """input [bags, length], or [n] with offsets [bags]; returns [bags, embedding_dim]."""
        return ops.embedding_bag(input, self.weight, offsets, mode=self.mode, per_sample_weights=per_sample_weights,
                                 include_last_offset=self.include_last_offset, padding_idx=self.padding_idx)


class Linear(nn.Linear):
    """torch.nn.Linear."""

    def forward(self, x: Tensor) -> Tensor:
        """x [..., in_features] to [..., out_features]."""
        return ops.linear(x, self.weight, self.bias)


class SwiGLU(nn.Module):
    """down_proj(silu(gate_proj(x)) * up_proj(x)): the feed-forward part of Llama and its like, by its names."""

    def __init__(self, features: int, hidden_features: int, bias: bool = False, device: Any = None,
                 dtype: torch.dtype | None = None) -> None:
        super().__init__()
        options = {"bias": bias, "device": device, "dtype": dtype}
        self.gate_proj = Linear(features, hidden_features, **options)
        self.up_proj = Linear(features, hidden_features, **options)
        self.down_proj = Linear(hidden_features, features, **options)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., features] to the same shape."""
        return self.down_proj(ops.silu_mul(self.gate_proj(x), self.up_proj(x)))


class RotaryEmbedding(nn.Module):
    """ops.rope as a module without parameters. dims: how many elements of a head turn; None is all."""

    def __init__(self, dims: int | None = None, base: float = 10000.0, interleaved: bool = False,
                 scale: float = 1.0) -> None:
        super().__init__()
        self.dims, self.base, self.interleaved, self.scale = dims, base, interleaved, scale

    def forward(self, x: Tensor, positions: Tensor | None = None, offset: int = 0) -> Tensor:
        """x [B, H, S, D] turned by its positions: offset + s, or offset + positions [S] or [B, S]."""
        return ops.rope(x, positions, offset=offset, dims=self.dims, interleaved=self.interleaved, base=self.base,
                        scale=self.scale)

    def extra_repr(self) -> str:
        """What differs between two of them."""
        return f"dims={self.dims}, base={self.base}, interleaved={self.interleaved}, scale={self.scale}"


class Attention(nn.Module):
    """Self-attention with grouped heads: q_proj, k_proj, v_proj and o_proj, as Llama and its like name them.

    rope: a RotaryEmbedding for queries and keys, or None. kv_heads: heads of keys and values, heads if None.
    """

    def __init__(self, features: int, heads: int, kv_heads: int | None = None, head_features: int | None = None,
                 bias: bool = False, rope: RotaryEmbedding | None = None, window: int | None = None,
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
        self.q_proj = Linear(features, heads * size, **options)
        self.k_proj = Linear(features, kv_heads * size, **options)
        self.v_proj = Linear(features, kv_heads * size, **options)
        self.o_proj = Linear(heads * size, features, **options)

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


class QuantisedLinear(nn.Module):
    """A linear layer whose weights are kept in 4 or 8 bits; they are constants, the bias can be trained.

    Its state_dict holds packed, scales, biases (unless symmetric) and bias. from_linear makes one of a torch layer.
    """

    def __init__(self, in_features: int, out_features: int, bias: bool = True, bits: int = 4, group: int = 64,
                 symmetric: bool = False, device: Any = None, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        if bits not in (4, 8) or group not in (32, 64, 128):
            raise ValueError(f"QuantisedLinear: bits is {bits} and group {group}, but must be 4 or 8, and 32, 64 or "
                             "128")
        if in_features % group:
            raise ValueError(f"QuantisedLinear: {in_features} input features are no multiple of the group {group}")
        self.in_features, self.out_features, self.bits, self.group = in_features, out_features, bits, group
        grid = (out_features, in_features // group)
        self.register_buffer("packed", torch.zeros(out_features, in_features * bits // 8, dtype=torch.uint8,
                                                   device=device))
        self.register_buffer("scales", torch.zeros(grid, device=device, dtype=dtype))
        self.register_buffer("biases", None if symmetric else torch.zeros(grid, device=device, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(out_features, device=device, dtype=dtype)) if bias else None

    @classmethod
    def from_linear(cls, linear: nn.Linear, bits: int = 4, group: int = 64,
                    symmetric: bool = False) -> QuantisedLinear:
        """The same layer with quantised weights."""
        layer = cls(linear.in_features, linear.out_features, linear.bias is not None, bits, group, symmetric,
                    linear.weight.device, linear.weight.dtype)
        with torch.no_grad():
            weights = ops.quantise(linear.weight, bits, group, biases=not symmetric)
            layer.packed, layer.scales, layer.biases = weights.packed, weights.scales, weights.biases
            if linear.bias is not None:
                layer.bias.copy_(linear.bias)
        return layer

    @property
    def weight(self) -> ops.QuantisedTensor:
        """The quantised weights [out_features, in_features]."""
        return ops.QuantisedTensor(self.packed, self.scales, self.biases, self.bits, self.group)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., in_features] to [..., out_features]."""
        return ops.quantised_linear(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        """As torch.nn.Linear's, with the format."""
        return (f"in_features={self.in_features}, out_features={self.out_features}, bias={self.bias is not None}, "
                f"bits={self.bits}, group={self.group}, symmetric={self.biases is None}")


class Linear4bit(QuantisedLinear):
    """QuantisedLinear with 4 bits."""

    def __init__(self, in_features: int, out_features: int, bias: bool = True, bits: int = 4, *args: Any,
                 **kwargs: Any) -> None:
        if bits != 4:
            raise ValueError(f"Linear4bit has 4 bits, not {bits}; use QuantisedLinear")
        super().__init__(in_features, out_features, bias, 4, *args, **kwargs)


QuantizedLinear = QuantisedLinear


def alibi_slopes(heads: int) -> Tensor:
    """The slopes of ALiBi for `heads` heads, float32 [heads]: powers of 2^(-8 / heads), as its paper chooses them."""
    power = 2 ** math.floor(math.log2(heads))
    first = [2 ** (-8 * (index + 1) / power) for index in range(power)]
    rest = [2 ** (-8 * (2 * index + 1) / (2 * power)) for index in range(heads - power)]
    return torch.tensor(first + rest, dtype=torch.float32)
