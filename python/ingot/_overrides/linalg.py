"""torch.linalg: qr, cholesky, lu, solve, triangular solve, lstsq, eigh and svd.

torch returns matrices in column-major order. Where an identity allows it, ingot is called on the
transposed problem, whose row-major results are the column-major ones of the problem; else they
are copied.
"""

from __future__ import annotations

from typing import Any

import torch

from ingot._overrides.dispatch import composite, leaf
from ingot._overrides.limits import LARGEST_LSTSQ, LEAST_RIGHT_SIDES, TALL, always, plain, within

ops = torch.ops.ingot


def _matrices(name: str, a: Any, square: bool = True) -> bool:
    if a.ndim < 2 or not plain(a) or (square and a.shape[-1] != a.shape[-2]):
        return False
    return within(name, a.dtype, a.numel(), max(a.shape[-2:]))


def _column_major(x: Any) -> Any:
    return x.mT.contiguous().mT


def _finite(a: Any) -> bool:
    """torch raises for NaN and infinity in some of these; what it says is left to it."""
    return bool(torch.isfinite(a.sum())) or bool(torch.isfinite(a).all())


@leaf("linalg", "linalg_qr")
def qr(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete") or not _matrices("qr", a, square=False):
        return NotImplemented
    q, r = ops.qr(a, mode == "complete")
    return _column_major(q), _column_major(r)


@leaf("linalg", "linalg_cholesky_ex")
def cholesky(a: Any, *, upper: bool = False, check_errors: bool = False) -> Any:
    if check_errors or not _matrices("cholesky", a):
        return NotImplemented
    factor, info = ops.cholesky(a.mT, not upper)
    return (factor.mT, info) if not bool(info.any()) else NotImplemented


@leaf("linalg", "linalg_lu_factor_ex")
def lu_factor(a: Any, *, pivot: bool = True, check_errors: bool = False) -> Any:
    if not pivot or check_errors or not _matrices("lu", a, square=False):
        return NotImplemented
    lu, pivots, info = ops.lu(a)
    return _column_major(lu), pivots + 1, info


@composite("linalg", "linalg_solve")
def solve(a: Any, b: Any, *, left: bool = True) -> Any:
    if not left or not _matrices("solve", a) or not plain(b) or a.dtype != b.dtype:
        return NotImplemented
    if b.ndim != a.ndim or b.shape[:-1] != a.shape[:-1] or b.shape[-1] == 0:
        return NotImplemented
    x, info = ops.solve(a, b)
    return _column_major(x) if not bool(info.any()) else NotImplemented


@leaf("linalg", "linalg_solve_triangular")
def solve_triangular(a: Any, b: Any, *, upper: bool, left: bool = True, unitriangular: bool = False) -> Any:
    if not _matrices("triangular_solve", a) or not plain(b) or a.dtype != b.dtype or b.numel() == 0:
        return NotImplemented
    if b.ndim != a.ndim or b.shape[:-2] != a.shape[:-2] or b.shape[-2 if left else -1] != a.shape[-1]:
        return NotImplemented
    if b.shape[-1 if left else -2] < LEAST_RIGHT_SIDES and not always("triangular_solve"):
        return NotImplemented
    return _column_major(ops.triangular_solve(a, b, upper, False, unitriangular, not left))


@leaf("linalg", "linalg_lstsq")
def lstsq(a: Any, b: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    if driver not in (None, "gelsy") or rcond is not None or not _matrices("lstsq", a, square=False):
        return NotImplemented
    rows, columns = a.shape[-2:]
    if rows < TALL * columns and max(rows, columns) > LARGEST_LSTSQ and not always("lstsq"):
        return NotImplemented
    if (
        not plain(b)
        or a.dtype != b.dtype
        or b.ndim != a.ndim
        or b.shape[:-1] != a.shape[:-1]
        or not b.numel()
    ):
        return NotImplemented
    x, rank = ops.lstsq(a, b)
    # torch's solution is the first rows of where the right sides were.
    room = x.new_empty(*b.shape[:-2], b.shape[-1], max(rows, columns)).mT
    solution = room[..., :columns, :].copy_(x)
    return solution, x.new_empty(0), rank.to(torch.int64), x.new_empty(0)


@leaf("linalg", "_linalg_eigh")
def eigh(a: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    if UPLO not in "LlUu" or not _matrices("eigh" if compute_v else "eigvalsh", a) or not _finite(a):
        return NotImplemented
    upper = UPLO in "Uu"
    if not compute_v:
        return ops.eigvalsh(a, upper), a.new_empty(0)
    values, vectors = ops.eigh(a, upper)
    return values, _column_major(vectors)


@leaf("linalg", "_linalg_svd")
def svd(a: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
    if driver is not None or not _matrices("svd" if compute_uv else "svdvals", a, square=False):
        return NotImplemented
    if (compute_uv and full_matrices and a.shape[-1] != a.shape[-2]) or not _finite(a):
        return NotImplemented
    if not compute_uv:
        return a.new_empty(0), ops.svdvals(a), a.new_empty(0)
    v, s, uh = ops.svd(a.mT)
    return uh.mT, s, v.mT
