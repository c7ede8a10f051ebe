"""cholesky for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ingot._operations.triangular import solve_triangular
from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import limits
from ingot._torch.describe import float32, like, operator
from ingot._torch.matrices import batch_of, check_info, in_float32, matrices_fit

OPS = ("cholesky",)


def cholesky_gradient(factor: Tensor, d_factor: Tensor, upper: bool) -> Tensor:
    """The gradient of a = l l' (or u' u), as a symmetric matrix."""
    lower = factor.mT if upper else factor
    d_lower = d_factor.mT if upper else d_factor
    product = torch.tril(lower.mT @ d_lower)
    symmetric = 0.5 * (product + torch.tril(product, -1).mT)
    left = solve_triangular(lower, symmetric, upper=False, transposed=True)
    return solve_triangular(lower, left, upper=False, right=True)


@operator
class Cholesky:
    """The factor has a gradient; info has none."""

    schema = "cholesky(Tensor a, bool upper=False) -> (Tensor, Tensor)"
    autocast = float32("a")

    def fake(a, upper):
        return like(a), batch_of(a)

    def setup(ctx, inputs, output):
        ctx.upper, ctx.dtype = inputs[1], inputs[0].dtype
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[0])

    def backward(ctx, d_factor, d_info):
        return cholesky_gradient(*in_float32(*ctx.saved_tensors, d_factor), ctx.upper).to(ctx.dtype), None


_cholesky = Cholesky.direct


def cholesky(a: Tensor, *, upper: bool = False, check: bool = True) -> Tensor:
    """The factor of symmetric positive definite a [..., n, n]: a = L Lᵀ, or Uᵀ U when upper. One triangle is read.

    check: whether a matrix that is not positive definite raises torch.linalg.LinAlgError; without it, the factor
    has zeros from the failing column on.
    """
    factor, info = _cholesky(a, upper)
    if check:
        check_info("cholesky", info, "the matrix is not positive definite: pivot {} is not positive")
    return factor


limits("linalg", "cholesky", float32_only=True)


@leaf("linalg", "linalg_cholesky_ex")
def override(a: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    if check_errors or not matrices_fit("cholesky", a):
        return NotImplemented
    # the transposed problem: its row-major result is the column-major one of the problem
    factor, info = Cholesky(a.mT, not upper)
    return (factor.mT, info) if not bool(info.any()) else NotImplemented
