"""fill, axpy, conversion, and the activations alone or times a second input."""
from __future__ import annotations

import torch
from torch import Tensor

from ingot.ops.direct import direct
from ingot.ops.names import GELU_FORMULAS, choice

_ops = torch.ops.ingot
_silu, _gelu, _gelu_tanh = direct("silu"), direct("gelu"), direct("gelu_tanh")
_silu_mul, _gelu_mul, _gelu_tanh_mul = direct("silu_mul"), direct("gelu_mul"), direct("gelu_tanh_mul")


def fill_(out: Tensor, value: float) -> Tensor:
    """Sets every element of `out` (any shape, contiguous) to `value`, and returns it."""
    _ops.fill_.default(out, value)
    return out


def axpy(x: Tensor, y: Tensor, alpha: float = 1.0) -> Tensor:
    """alpha * x + y, computed in float32 and rounded once; x and y have one shape and type."""
    return _ops.axpy.default(x, y, alpha)


def axpy_(y: Tensor, x: Tensor, alpha: float = 1.0) -> Tensor:
    """y += alpha * x in place, and returns y."""
    _ops.axpy_.default(y, x, alpha)
    return y


def convert(x: Tensor, dtype: torch.dtype) -> Tensor:
    """x in another float type, contiguous; the shape stays."""
    return _ops.convert.default(x, dtype)


def silu(x: Tensor) -> Tensor:
    """x / (1 + exp(-x)), element by element."""
    return _silu(x)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution at x, element by element.

    approximate: "none" computes by erf, "tanh" by the tanh formula, as torch.nn.functional.gelu.
    """
    return _gelu_tanh(x) if choice("gelu", "approximate", approximate, GELU_FORMULAS) else _gelu(x)


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) * up: the inner part of SwiGLU. Both have one shape; they may be halves of one tensor."""
    return _silu_mul(gate, up)


def gelu_mul(gate: Tensor, up: Tensor, approximate: str = "none") -> Tensor:
    """gelu(gate) * up: the inner part of GeGLU; see gelu for `approximate`."""
    tanh = choice("gelu_mul", "approximate", approximate, GELU_FORMULAS)
    return _gelu_tanh_mul(gate, up) if tanh else _gelu_mul(gate, up)
