"""What limits() of kernels/NAME/NAME_bench.py is written with: calls of growing size, for override_limits.py."""
from __future__ import annotations

import torch

F32, BF16 = torch.float32, torch.bfloat16
BOTH = (F32, BF16)
ACTIVATION_SIZES, ROW_SIZES, MATRIX_SIZES = range(8, 25, 2), range(8, 24, 2), range(10, 21, 2)


class Limit:
    """What is measured under a name of limits().

    types, sizes (powers of 2), and make(type, elements): the call, or a pair of calls, torch's and ingot's, where there
    is no override. by_extent(n): the call on one matrix n × n, where the largest matrix is measured too. of: whose
    elements are counted, if not those of the largest input.
    """

    def __init__(self, types, sizes, make, by_extent=None, of: str = "") -> None:
        self.types, self.sizes, self.make, self.by_extent, self.of = types, sizes, make, by_extent, of


def normal(*shape: int, dtype: torch.dtype = F32, grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape).to(dtype).requires_grad_(grad)


def flat(function):
    """A call on one tensor."""
    return lambda dtype, elements: (lambda x: lambda: function(x))(normal(elements, dtype=dtype))


def flat_gradient(function):
    """A call on a gradient and what came in or out before."""
    return lambda dtype, elements: (lambda d, x: lambda: function(d, x))(normal(elements, dtype=dtype),
                                                                        normal(elements, dtype=dtype))


def by_rows(function, width: int = 256):
    """A call on rows of `width`."""
    return lambda dtype, elements: (lambda x: lambda: function(x))(normal(max(elements // width, 1),
                                                                          min(elements, width), dtype=dtype))


def by_rows_gradient(function, width: int = 256):
    def make(dtype, elements):
        shape = max(elements // width, 1), min(elements, width)
        d, y = normal(*shape, dtype=dtype), torch.softmax(normal(*shape, dtype=dtype), -1)
        return lambda: function(d, y, dtype)
    return make


def norm(function, grad: bool, width: int = 256):
    """A norm with its gradient, or without."""
    def make(dtype, elements):
        width_here = min(elements, width)
        x = normal(max(elements // width, 1), width_here, dtype=dtype, grad=grad)
        weight, d = normal(width_here, dtype=dtype, grad=grad), torch.ones_like(x).detach()
        if not grad:
            return torch.no_grad()(lambda: function(x, weight))
        return lambda: torch.autograd.grad(function(x, weight), (x, weight), d)
    return make


def matrices(function, prepare=lambda a: a, extent: int = 32):
    """Matrices of 32 × 32; elements are those of all."""
    def make(dtype, elements):
        a = prepare(normal(max(elements // extent**2, 1), extent, extent))
        return lambda: function(a)
    return make


def positive(a: torch.Tensor) -> torch.Tensor:
    return a @ a.mT + a.shape[-1] * torch.eye(a.shape[-1])


def of_matrices(function, prepare=lambda a: a, by_extent: bool = False) -> Limit:
    """The limit of a function of matrices."""
    extent = (lambda n: matrices(function, prepare, n)(F32, n**2)) if by_extent else None
    return Limit((F32,), MATRIX_SIZES, matrices(function, prepare), extent)
