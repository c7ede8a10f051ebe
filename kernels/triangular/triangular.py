"""triangular_solve for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import always, limits, plain
from ingot._overrides.measured import LEAST_RIGHT_SIDES
from ingot._torch.describe import float32, like, operator
from ingot._torch.matrices import column_major, in_float32, matrices_fit, same_batch

OPS = ("triangular_solve",)


def solve_triangular(a: Tensor, b: Tensor, *, upper: bool, transposed: bool = False, unit: bool = False,
                     right: bool = False) -> Tensor:
    """op(a) x = b, or x op(a) = b, by ingot for float32 and by torch for float64."""
    if a.dtype == torch.float64:
        matrix = a.mT if transposed else a
        return torch.linalg.solve_triangular(matrix, b, upper=upper != transposed, left=not right,
                                             unitriangular=unit)
    return TriangularSolve(a, b, upper, transposed, unit, right)


def triangular_solve_gradients(a: Tensor, x: Tensor, d_x: Tensor, upper: bool, transposed: bool, unit: bool,
                               right: bool) -> tuple[Tensor, Tensor]:
    """The gradients of a (its triangle) and b."""
    d_b = solve_triangular(a, d_x, upper=upper, transposed=not transposed, unit=unit, right=right)
    d_op = -(x.mT @ d_b) if right else -(d_b @ x.mT)
    d_a = d_op.mT if transposed else d_op
    diagonal = 1 if unit else 0
    return torch.triu(d_a, diagonal) if upper else torch.tril(d_a, -diagonal), d_b


@operator
class TriangularSolve:
    """a's triangle and b have gradients."""

    schema = ("triangular_solve(Tensor a, Tensor b, bool upper=False, bool transposed=False, bool unit=False,"
              " bool right=False) -> Tensor")
    autocast = float32("a", "b")

    def fake(a, b, upper, transposed, unit, right):
        return like(b)

    def setup(ctx, inputs, output):
        a, _, *ctx.options = inputs
        ctx.save_for_backward(a, output)

    def backward(ctx, d_x):
        a, x = ctx.saved_tensors
        d_a, d_b = triangular_solve_gradients(*in_float32(a, x, d_x), *ctx.options)
        return d_a.to(a.dtype), d_b.to(d_x.dtype), None, None, None, None


_triangular_solve = TriangularSolve.direct


def triangular_solve(a: Tensor, b: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False,
                     transposed: bool = False) -> Tensor:
    """The x of op(a) x = b, or of x op(a) = b when left is False, as torch.linalg.solve_triangular.

    a: [..., n, n], triangular (the other triangle is not read); op is the transpose when `transposed`.
    b: [..., n, k], or [..., k, n]. unitriangular: the diagonal counts as 1.
    """
    a, b = same_batch("triangular_solve", a, b)
    return _triangular_solve(a, b, upper, transposed, unitriangular, not left)


limits("linalg", "triangular_solve", float32_only=True)


@leaf("linalg", "linalg_solve_triangular")
def override(a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    if not matrices_fit("triangular_solve", a) or not plain(b) or a.dtype != b.dtype or b.numel() == 0:
        return NotImplemented
    if b.ndim != a.ndim or b.shape[:-2] != a.shape[:-2] or b.shape[-2 if left else -1] != a.shape[-1]:
        return NotImplemented
    if b.shape[-1 if left else -2] < LEAST_RIGHT_SIDES and not always("triangular_solve"):
        return NotImplemented
    return column_major(TriangularSolve(a, b, upper, False, unitriangular, not left))
