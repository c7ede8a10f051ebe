"""Products of few rows with quantised weights for PyTorch, and linear layers with such weights; see
python/ingot/_torch/describe.py.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ingot._operations.quantise import (QuantisedProduct, QuantisedTensor, keep_weights, parts_of, quantise,
                                        quantised_matmul)
from ingot._torch.describe import count_dimensions, lower, operator

OPS = ("quantised_linear", "quantised_matvec", "quantized_linear", "quantized_matvec")
NN = ("Linear4bit", "QuantisedLinear", "QuantizedLinear")


@operator
class Matvec(QuantisedProduct):
    schema = ("quantised_matvec(Tensor x, Tensor packed, Tensor scales, Tensor? biases, int bits, int group,"
              " Tensor? bias=None) -> Tensor")
    autocast = lower("x", "bias")

    def setup(ctx, inputs, output):
        keep_weights("quantised_matvec", ctx, inputs, output)


_matvec = Matvec.direct
_FEW_ROWS = 4  # which quantised_matvec does everywhere; of more, quantised_matmul knows


def quantised_matvec(x: Tensor, weights: QuantisedTensor, bias: Tensor | None = None) -> Tensor:
    """x [k] or [m, k] times the transposed weights [n, k], plus bias [n]: best for up to eight rows."""
    return _matvec(x, *parts_of("quantised_matvec", weights), bias)


def quantised_linear(x: Tensor, weights: QuantisedTensor, bias: Tensor | None = None, *,
                     activation: str | None = None) -> Tensor:
    """x [..., k] times the transposed weights [n, k], plus bias [n]; x is turned by few or by many rows at once,
    whichever is faster. Gradients go to x and bias; the weights are constants."""
    dimensions = count_dimensions("quantised_linear", "x", x)
    if activation is None and dimensions <= 2 and (dimensions == 1 or 0 < x.shape[0] <= _FEW_ROWS):
        return quantised_matvec(x, weights, bias)
    return quantised_matmul(x, weights, bias, activation=activation)


quantized_matvec, quantized_linear = quantised_matvec, quantised_linear


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
            weights = quantise(linear.weight, bits, group, biases=not symmetric)
            layer.packed, layer.scales, layer.biases = weights.packed, weights.scales, weights.biases
            if linear.bias is not None:
                layer.bias.copy_(linear.bias)
        return layer

    @property
    def weight(self) -> QuantisedTensor:
        """The quantised weights [out_features, in_features]."""
        return QuantisedTensor(self.packed, self.scales, self.biases, self.bits, self.group)

    def forward(self, x: Tensor) -> Tensor:
        """x [..., in_features] to [..., out_features]."""
        return quantised_linear(x, self.weight, self.bias)

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
