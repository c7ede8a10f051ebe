"""lu and solve for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ingot._operations.triangular import solve_triangular
from ingot._overrides.dispatch import composite, leaf
from ingot._overrides.limits import limits, plain
from ingot._torch.describe import count_dimensions, float32, like, operator
from ingot._torch.matrices import batch_of, check_info, column_major, in_float32, matrices_fit, same_batch

OPS = ("LUResult", "lu", "solve")


def lu_gradient(lu: Tensor, pivots: Tensor, d_lu: Tensor) -> Tensor:
    """The gradient of p a = l u, square, with l and u in one matrix; pivots count from 0."""
    lower, upper = torch.tril(lu, -1), torch.triu(lu)
    size = lu.shape[-1]
    lower = lower + torch.eye(size, dtype=lu.dtype, device=lu.device)
    inner = torch.tril(lower.mT @ torch.tril(d_lu, -1), -1) + torch.triu(torch.triu(d_lu) @ upper.mT)
    left = solve_triangular(lower, inner, upper=False, transposed=True, unit=True)
    both = solve_triangular(upper, left, upper=True, transposed=True, right=True)
    permutation, _, _ = torch.lu_unpack(lu.detach(), (pivots + 1).to(torch.int32), unpack_data=False)
    return permutation.to(lu.dtype) @ both


@operator
class Lu:
    """Both factors of square matrices have gradients."""

    schema = "lu(Tensor a) -> (Tensor, Tensor, Tensor)"
    autocast = float32("a")

    def fake(a):
        pivots = a.new_empty((*a.shape[:-2], torch.sym_min(a.shape[-2], a.shape[-1])), dtype=torch.int32)
        return like(a), pivots, batch_of(a)

    def setup(ctx, inputs, output):
        ctx.dtype = inputs[0].dtype
        ctx.mark_non_differentiable(output[1], output[2])
        ctx.save_for_backward(output[0], output[1])

    def backward(ctx, d_lu, d_pivots, d_info):
        lu, pivots = ctx.saved_tensors
        if lu.shape[-2] != lu.shape[-1]:
            raise RuntimeError(f"ingot::lu: the gradient is for square matrices, not for {lu.shape[-2]} x "
                               f"{lu.shape[-1]}")
        lu, d_lu = in_float32(lu, d_lu)
        return lu_gradient(lu, pivots, d_lu).to(ctx.dtype)


@operator
class Solve:
    """a and b have gradients, by one more solve with the transpose."""

    schema = "solve(Tensor a, Tensor b) -> (Tensor, Tensor)"
    autocast = float32("a", "b")

    def fake(a, b):
        return like(b), batch_of(a)

    def setup(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(inputs[0], output[0])

    def backward(ctx, d_x, d_info):
        a, x = ctx.saved_tensors
        d_b, _ = Solve(a.mT.contiguous(), d_x)
        return -(d_b @ x.mT), d_b


_lu, _solve = Lu.direct, Solve.direct


class LUResult(NamedTuple):
    """P a = L U in one matrix; in step i row i was exchanged with row pivots[i], counted from 0."""
    LU: Tensor
    pivots: Tensor
    info: Tensor


def lu(a: Tensor) -> LUResult:
    """P a = L U with partial pivoting for a [..., m, n]; info is 0, or the number of the first pivot that is 0."""
    return LUResult(*_lu(a))


def solve(a: Tensor, b: Tensor, *, check: bool = True) -> Tensor:
    """The x of a x = b: a [..., n, n], b [..., n, k], or [..., n] for one right-hand side per matrix, as
    torch.linalg.solve. check: whether a singular matrix raises torch.linalg.LinAlgError; otherwise its x is 0."""
    rank_a, rank_b = count_dimensions("solve", "a", a), count_dimensions("solve", "b", b)
    vector = rank_b == 1 or (rank_a - 1 == rank_b and b.shape == a.shape[:-1])
    a, right = same_batch("solve", a, b.unsqueeze(-1) if vector else b)
    x, info = _solve(a, right)
    if check:
        check_info("solve", info, "the matrix is singular: pivot {} is 0")
    return x.squeeze(-1) if vector else x


limits("linalg", "lu", "solve", float32_only=True)


@leaf("linalg", "linalg_lu_factor_ex")
def override(a: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    if not pivot or check_errors or not matrices_fit("lu", a, square=False):
        return NotImplemented
    lu, pivots, info = Lu(a)
    return column_major(lu), pivots + 1, info


@composite("linalg", "linalg_solve")
def override_solve(a: Any, b: Any, *, left: bool = True) -> Any:
    if not left or not matrices_fit("solve", a) or not plain(b) or a.dtype != b.dtype:
        return NotImplemented
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1] or b.shape[-1] == 0:
        return NotImplemented
    x, info = Solve(a, b)
    return column_major(x) if not bool(info.any()) else NotImplemented
