"""Gradients of qr, cholesky, lu, the solvers and least squares.

The formulas are compositions of differentiable operators, so they can be differentiated again. They take float32
and float64 (for which the triangular systems go to torch.linalg); half types are computed in float32. Derivations:
M. Giles, "An extended collection of matrix derivative results for forward and reverse mode algorithmic
differentiation" (2008); for least squares and wide qr, from the defining equations, as noted.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ingot._torch.registry import at_least_float32, differentiate, operator


def register() -> None:
    """Registers the gradients."""
    register_qr()
    register_cholesky()
    register_lu()
    register_solve()
    register_triangular_solve()
    register_lstsq()


def solve_triangular(a: Tensor, b: Tensor, *, upper: bool, transposed: bool = False, unit: bool = False,
                     right: bool = False) -> Tensor:
    """op(a) x = b, or x op(a) = b, by ingot for float32 and by torch for float64."""
    if a.dtype == torch.float64:
        matrix = a.mT if transposed else a
        return torch.linalg.solve_triangular(matrix, b, upper=upper != transposed, left=not right,
                                             unitriangular=unit)
    return operator("triangular_solve")(a, b, upper, transposed, unit, right)


def is_known(tensor: Tensor) -> bool:
    """Whether the values of an info or rank tensor can be looked at now: not while a graph is traced."""
    from torch._subclasses.fake_tensor import FakeTensor

    return not isinstance(tensor, FakeTensor) and tensor.device.type != "meta" and \
        type(tensor) in (Tensor, torch.nn.Parameter)


def halve_diagonal(matrix: Tensor) -> Tensor:
    """The matrix with half its diagonal."""
    return matrix - 0.5 * torch.diag_embed(matrix.diagonal(dim1=-2, dim2=-1))


def qr_gradient(q: Tensor, r: Tensor, d_q: Tensor | None, d_r: Tensor | None) -> Tensor:
    """The gradient of a = q r with q [m, k], r [k, n]; k = n, or k = m <= n.

    A wide a = [a1 a2] has a1 = q r1 and r2 = q' a2: the gradient of r2 goes to a2 and, through q, to a1.
    """
    rows, inner, columns = q.shape[-2], r.shape[-2], r.shape[-1]
    d_q = torch.zeros_like(q) if d_q is None else d_q
    d_r = torch.zeros_like(r) if d_r is None else d_r
    if inner == columns:
        triangle = torch.triu(d_r @ r.mT - q.mT @ d_q)
        symmetric = halve_diagonal(triangle + triangle.mT)
        return solve_triangular(r, d_q + q @ symmetric, upper=True, transposed=True, right=True)
    assert rows == inner < columns
    right, d_right = r[..., inner:], d_r[..., inner:]
    d_left = qr_gradient(q, r[..., :inner], d_q + q @ (right @ d_right.mT), d_r[..., :inner])
    return torch.cat([d_left, q @ d_right], -1)


def cholesky_gradient(factor: Tensor, d_factor: Tensor, upper: bool) -> Tensor:
    """The gradient of a = l l' (or u' u), as a symmetric matrix."""
    lower = factor.mT if upper else factor
    d_lower = d_factor.mT if upper else d_factor
    product = torch.tril(lower.mT @ d_lower)
    symmetric = 0.5 * (product + torch.tril(product, -1).mT)
    left = solve_triangular(lower, symmetric, upper=False, transposed=True)
    return solve_triangular(lower, left, upper=False, right=True)


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


def triangular_solve_gradients(a: Tensor, x: Tensor, d_x: Tensor, upper: bool, transposed: bool, unit: bool,
                               right: bool) -> tuple[Tensor, Tensor]:
    """The gradients of a (its triangle) and b."""
    d_b = solve_triangular(a, d_x, upper=upper, transposed=not transposed, unit=unit, right=right)
    d_op = -(x.mT @ d_b) if right else -(d_b @ x.mT)
    d_a = d_op.mT if transposed else d_op
    diagonal = 1 if unit else 0
    return torch.triu(d_a, diagonal) if upper else torch.tril(d_a, -diagonal), d_b


def lstsq_gradients(a: Tensor, b: Tensor, x: Tensor, d_x: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of a and b, a of full rank.

    Tall: a'a dx = da' (b - a x) + a' (db - da x). Wide: x = a' y with a a' y = b. Both triangular systems come
    from the qr decomposition of a (or a').
    """
    rows, columns = a.shape[-2], a.shape[-1]
    tall = rows >= columns
    r = torch.linalg.qr(a if tall else a.mT, mode="r")[1] if a.dtype == torch.float64 else \
        operator("qr")(a if tall else a.mT)[1]

    def normal_solve(right_side: Tensor) -> Tensor:
        half = solve_triangular(r, right_side, upper=True, transposed=True)
        return solve_triangular(r, half, upper=True)

    if tall:
        w = normal_solve(d_x)
        d_b = a @ w
        return (b - a @ x) @ w.mT - d_b @ x.mT, d_b
    y, d_b = normal_solve(b), normal_solve(a @ d_x)
    return y @ (d_x - a.mT @ d_b).mT - d_b @ x.mT, d_b


def in_float32(*tensors: Tensor | None) -> list[Any]:
    """The tensors with half types as float32."""
    return [None if tensor is None else at_least_float32(tensor) for tensor in tensors]


def register_qr() -> None:
    """q and r, where the decomposition determines them."""

    def setup(ctx, inputs, output):
        a, complete = inputs
        ctx.wide_q = complete and a.shape[-2] > a.shape[-1]
        ctx.dtype = a.dtype
        ctx.save_for_backward(*output)
        ctx.set_materialize_grads(False)

    def backward(ctx, d_q, d_r):
        q, r = ctx.saved_tensors
        if ctx.wide_q:
            raise RuntimeError(f"ingot::qr: the complete decomposition of a {q.shape[-2]} x {r.shape[-1]} matrix "
                               "has no gradient, because its last columns of q are free; use complete=False")
        return qr_gradient(*in_float32(q, r, d_q, d_r)).to(ctx.dtype), None

    differentiate("qr", backward, setup)


def register_cholesky() -> None:
    """The factor; info has no gradient."""

    def setup(ctx, inputs, output):
        ctx.upper, ctx.dtype = inputs[1], inputs[0].dtype
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(output[0])

    def backward(ctx, d_factor, d_info):
        return cholesky_gradient(*in_float32(*ctx.saved_tensors, d_factor), ctx.upper).to(ctx.dtype), None

    differentiate("cholesky", backward, setup)


def register_lu() -> None:
    """Both factors of square matrices."""

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

    differentiate("lu", backward, setup)


def register_solve() -> None:
    """a and b, by one more solve with the transpose."""
    solve = operator("solve")

    def setup(ctx, inputs, output):
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(inputs[0], output[0])

    def backward(ctx, d_x, d_info):
        a, x = ctx.saved_tensors
        d_b, _ = solve(a.mT.contiguous(), d_x)
        return -(d_b @ x.mT), d_b

    differentiate("solve", backward, setup)


def register_triangular_solve() -> None:
    """a's triangle and b."""

    def setup(ctx, inputs, output):
        a, _, *ctx.options = inputs
        ctx.save_for_backward(a, output)

    def backward(ctx, d_x):
        a, x = ctx.saved_tensors
        d_a, d_b = triangular_solve_gradients(*in_float32(a, x, d_x), *ctx.options)
        return d_a.to(a.dtype), d_b.to(d_x.dtype), None, None, None, None

    differentiate("triangular_solve", backward, setup)


def register_lstsq() -> None:
    """a and b of full rank; at a lower rank the solution of least norm jumps."""

    def setup(ctx, inputs, output):
        a, b, _ = inputs
        ctx.mark_non_differentiable(output[1])
        ctx.save_for_backward(a, b, *output)

    def backward(ctx, d_x, d_rank):
        a, b, x, rank = ctx.saved_tensors
        full = min(a.shape[-2], a.shape[-1])
        if is_known(rank) and rank.numel() > 0 and int(rank.min()) < full:
            raise RuntimeError(f"ingot::lstsq: the gradient needs matrices of full rank {full}, but one has rank "
                               f"{int(rank.min())}")
        d_a, d_b = lstsq_gradients(*in_float32(a, b, x, d_x))
        return d_a.to(a.dtype), d_b.to(b.dtype), None

    differentiate("lstsq", backward, setup)
