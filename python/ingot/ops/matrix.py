"""Products of matrices, and weights quantised to 4 or 8 bits."""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ingot.ops.activations import gelu, silu
from ingot.ops.direct import direct
from ingot.ops.names import EPILOGUES, choice, count_dimensions

_ops = torch.ops.ingot
_matmul, _matvec, _quantised_matmul = direct("matmul"), direct("quantised_matvec"), direct("quantised_matmul")
_FEW_ROWS = 8  # quantised_matvec reads the weights once for up to eight rows
_SEPARATE = {2: silu, 3: gelu, 4: lambda x: gelu(x, "tanh")}


def _wants_gradient(*tensors: Tensor | None) -> bool:
    """Whether autograd will come back through a product of these tensors."""
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def matmul(a: Tensor, b: Tensor, bias: Tensor | None = None, *, transpose_a: bool = False,
           transpose_b: bool = False, activation: str | None = None) -> Tensor:
    """activation(a b + bias), summed in float32.

    a: [..., m, k], or [..., k, m] with transpose_a; b: [..., k, n], or [..., n, k] with transpose_b; batch
    dimensions are broadcast. A vector counts as a row (a) or a column (b), as in torch.matmul. bias: [n].
    activation: None, "relu", "silu", "gelu" or "gelu_tanh", applied before rounding. Returns [..., m, n].
    """
    epilogue = choice("matmul", "activation", activation, EPILOGUES)
    rank_a, rank_b = count_dimensions("matmul", "a", a), count_dimensions("matmul", "b", b)
    if rank_a == 0 or rank_b == 0:
        raise ValueError(f"matmul: both operands need at least 1 dimension, but they have {rank_a} and {rank_b}")
    row, column = rank_a == 1, rank_b == 1
    if row:
        a, transpose_a = a.unsqueeze(0), False
    if column:
        b, transpose_b = b.unsqueeze(-1), False
    if rank_a > 2 and rank_b > 2 and a.shape[:-2] != b.shape[:-2]:
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])
    separate = _SEPARATE.get(epilogue) if _wants_gradient(a, b, bias) else None
    out = _matmul(a, b, bias, transpose_a, transpose_b, 0 if separate else epilogue)
    if separate:  # the gradient needs the product before the activation
        out = separate(out)
    if column:
        out = out.squeeze(-1)
    return out.squeeze(-1 if column else -2) if row else out


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str | None = None) -> Tensor:
    """activation(x weightᵀ + bias), as torch.nn.functional.linear. x: [..., k]; weight: [n, k]; bias: [n]."""
    if count_dimensions("linear", "x", x) <= 2:
        return matmul(x, weight, bias, transpose_b=True, activation=activation)
    flat = matmul(x.flatten(0, -2), weight, bias, transpose_b=True, activation=activation)
    return flat.unflatten(0, x.shape[:-1])


@dataclass
class QuantisedTensor:
    """A matrix [n, k] in 4 or 8 bits per element, with a scale (and a bias) for each group of a row.

    An element stands for scale * q + bias, or for scale * (q - 2^(bits - 1)) without biases.
    packed: uint8 [n, k * bits / 8], low nibble first; scales, biases: [n, k / group].
    """

    packed: Tensor
    scales: Tensor
    biases: Tensor | None
    bits: int
    group: int

    @property
    def shape(self) -> tuple[int, int]:
        """(n, k), the shape of the matrix that it stands for."""
        return self.scales.shape[0], self.scales.shape[1] * self.group

    def dequantise(self, dtype: torch.dtype = torch.float32) -> Tensor:
        """The matrix in a float type."""
        return dequantise(self, dtype)

    dequantize = dequantise

    def to(self, *args, **kwargs) -> QuantisedTensor:
        """The same on another device; a float type converts the scales and biases."""
        biases = None if self.biases is None else self.biases.to(*args, **kwargs)
        scales = self.scales.to(*args, **kwargs)
        return QuantisedTensor(self.packed.to(scales.device), scales, biases, self.bits, self.group)


def quantise(x: Tensor, bits: int = 4, group: int = 64, *, biases: bool = False) -> QuantisedTensor:
    """Rounds x [n, k] to 4 or 8 bits in groups of 32, 64 or 128; k is a multiple of the group.

    biases: whether groups get a bias beside their scale (asymmetric).
    """
    packed, scales, offsets = _ops.quantise.default(x, bits, group, biases)
    return QuantisedTensor(packed, scales, offsets if biases else None, bits, group)


def _parts(function: str, weights: QuantisedTensor) -> tuple:
    """What the operators take for quantised weights, or a TypeError for other objects."""
    try:
        return weights.packed, weights.scales, weights.biases, weights.bits, weights.group
    except AttributeError:
        raise TypeError(f"{function}: weights have to be a QuantisedTensor, not {type(weights).__name__}") from None


def dequantise(weights: QuantisedTensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """The matrix [n, k] that quantised weights stand for."""
    return _ops.dequantise.default(*_parts("dequantise", weights), dtype)


def quantised_matvec(x: Tensor, weights: QuantisedTensor, bias: Tensor | None = None) -> Tensor:
    """x [k] or [m, k] times the transposed weights [n, k], plus bias [n]: best for up to eight rows."""
    return _matvec(x, *_parts("quantised_matvec", weights), bias)


def quantised_matmul(x: Tensor, weights: QuantisedTensor, bias: Tensor | None = None, *,
                     activation: str | None = None) -> Tensor:
    """activation(x [..., k] times the transposed weights [n, k] + bias [n]): for many rows."""
    epilogue = choice("quantised_matmul", "activation", activation, EPILOGUES)
    return _quantised_matmul(x, *_parts("quantised_matmul", weights), bias, epilogue)


def quantised_linear(x: Tensor, weights: QuantisedTensor, bias: Tensor | None = None, *,
                     activation: str | None = None) -> Tensor:
    """x [..., k] times the transposed weights [n, k], plus bias [n]; x is turned by few or by many rows at once,
    whichever is faster. Gradients go to x and bias; the weights are constants."""
    dimensions = count_dimensions("quantised_linear", "x", x)
    if activation is None and dimensions <= 2 and (dimensions == 1 or 0 < x.shape[0] <= _FEW_ROWS):
        return quantised_matvec(x, weights, bias)
    return quantised_matmul(x, weights, bias, activation=activation)
