"""Weights of 4 or 8 bits for PyTorch: quantise, dequantise, and products of many rows; see
python/ingot/_torch/describe.py.
"""
from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ingot._torch.describe import absent, choice, ctx_needs, like, lower, operator, refuse_gradient_of
from ingot._torch.epilogues import EPILOGUES, RELU, through_epilogue
from ingot._torch.rows import sum_rows

OPS = ("QuantisedTensor", "QuantizedTensor", "dequantise", "dequantize", "quantise", "quantised_matmul", "quantize",
       "quantized_matmul")

# ---- operators -------------------------------------------------------------------------------------------


@operator
class Quantise:
    schema = "quantise(Tensor x, int bits=4, int group=64, bool with_biases=False) -> (Tensor, Tensor, Tensor)"
    no_gradient = "it rounds"

    def fake(x, bits, group, with_biases):
        rows, columns = x.shape
        scales = x.new_empty((rows, columns // group))
        packed = x.new_empty((rows, columns * bits // 8), dtype=torch.uint8)
        return packed, scales, like(scales) if with_biases else absent(x)


@operator
class Dequantise:
    schema = ("dequantise(Tensor packed, Tensor scales, Tensor? biases, int bits, int group, ScalarType dtype)"
              " -> Tensor")
    no_gradient = "quantised weights are constants"

    def fake(packed, scales, biases, bits, group, dtype):
        return scales.new_empty((scales.shape[0], scales.shape[1] * group), dtype=dtype)


class QuantisedProduct:
    """x and bias have gradients; the weights are constants. An epilogue is the last argument, if there is one."""

    def fake(x, packed, *rest):
        return x.new_empty((*x.shape[:-1], packed.shape[0]))

    def backward(ctx, d_out):
        packed, scales, biases, bias, x, out = ctx.saved_tensors
        weights = (packed, scales, biases, ctx.bits, ctx.group)
        d_z = through_epilogue(ctx.epilogue, d_out, out, lambda: QuantisedMatmul(x, *weights, bias))
        gradients = [None] * ctx.count
        if ctx_needs(ctx, 0):
            rows = d_z.unsqueeze(0) if d_z.dim() == 1 else d_z
            d_x = torch.ops.ingot.matmul.default(rows, Dequantise(*weights, d_z.dtype))
            gradients[0] = d_x.squeeze(0) if d_z.dim() == 1 else d_x
        if ctx_needs(ctx, 6):
            gradients[6] = sum_rows(d_z.float()).to(bias.dtype)
        return tuple(gradients)


def keep_weights(name, ctx, inputs, output):
    """What QuantisedProduct.backward needs."""
    x, packed, scales, biases, ctx.bits, ctx.group, bias = inputs[:7]
    ctx.epilogue = inputs[7] if len(inputs) > 7 else 0
    refuse_gradient_of(name, "scales", scales)
    refuse_gradient_of(name, "biases", biases)
    keep_x = x if ctx.epilogue > RELU else None
    ctx.save_for_backward(packed, scales, biases, bias, keep_x, output if ctx.epilogue == RELU else None)
    ctx.count = len(inputs)


@operator
class QuantisedMatmul(QuantisedProduct):
    schema = ("quantised_matmul(Tensor x, Tensor packed, Tensor scales, Tensor? biases, int bits, int group,"
              " Tensor? bias=None, int epilogue=0) -> Tensor")
    autocast = lower("x", "bias")

    def setup(ctx, inputs, output):
        keep_weights("quantised_matmul", ctx, inputs, output)


# ---- ingot.ops and ingot.nn ------------------------------------------------------------------------------

_quantised_matmul = QuantisedMatmul.direct


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
    packed, scales, offsets = Quantise(x, bits, group, biases)
    return QuantisedTensor(packed, scales, offsets if biases else None, bits, group)


def parts_of(function: str, weights: QuantisedTensor) -> tuple:
    """What the operators take for quantised weights, or a TypeError for other objects."""
    try:
        return weights.packed, weights.scales, weights.biases, weights.bits, weights.group
    except AttributeError:
        raise TypeError(f"{function}: weights have to be a QuantisedTensor, not {type(weights).__name__}") from None


def dequantise(weights: QuantisedTensor, dtype: torch.dtype = torch.float32) -> Tensor:
    """The matrix [n, k] that quantised weights stand for."""
    return Dequantise(*parts_of("dequantise", weights), dtype)


def quantised_matmul(x: Tensor, weights: QuantisedTensor, bias: Tensor | None = None, *,
                     activation: str | None = None) -> Tensor:
    """activation(x [..., k] times the transposed weights [n, k] + bias [n]): for many rows."""
    epilogue = choice("quantised_matmul", "activation", activation, EPILOGUES)
    return _quantised_matmul(x, *parts_of("quantised_matmul", weights), bias, epilogue)


QuantizedTensor = QuantisedTensor
quantize, dequantize, quantized_matmul = quantise, dequantise, quantised_matmul
