"""Linear algebra on batches of matrices, with the conventions of torch.linalg.

Matrices are the last two dimensions; those before them are the batch. float32 inside; half types are converted.
Results of decompositions are named tuples with torch's names.
"""
from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from ingot.ops.names import count_dimensions

_ops = torch.ops.ingot


class QRResult(NamedTuple):
    """a = Q R."""
    Q: Tensor
    R: Tensor


class LUResult(NamedTuple):
    """P a = L U in one matrix; in step i row i was exchanged with row pivots[i], counted from 0."""
    LU: Tensor
    pivots: Tensor
    info: Tensor


class LstsqResult(NamedTuple):
    """The solution of least squares, and the rank of each matrix."""
    solution: Tensor
    rank: Tensor


class EighResult(NamedTuple):
    """a = eigenvectors diag(eigenvalues) eigenvectorsᵀ."""
    eigenvalues: Tensor
    eigenvectors: Tensor


class SVDResult(NamedTuple):
    """a = U diag(S) Vh."""
    U: Tensor
    S: Tensor
    Vh: Tensor


def _check_info(function: str, info: Tensor, meaning: str) -> None:
    """Raises torch.linalg.LinAlgError where a matrix of the batch failed; graphs are traced without the check."""
    if torch.compiler.is_compiling() or info.numel() == 0:
        return
    failed = torch.nonzero(info.reshape(-1))
    if failed.numel():
        number = int(failed[0])
        where = "" if info.dim() == 0 else f" (matrix {number} of {info.numel()})"
        raise torch.linalg.LinAlgError(f"{function}: {meaning.format(int(info.reshape(-1)[number]))}{where}")


def _same_batch(function: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the broadcast batch dimensions."""
    rank_a, rank_b = count_dimensions(function, "a", a), count_dimensions(function, "b", b)
    if rank_a < 2 or rank_b < 2:
        raise ValueError(f"{function}: both operands need at least 2 dimensions, but they have {rank_a} and {rank_b}")
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])


def qr(a: Tensor, mode: str = "reduced") -> QRResult:
    """a [..., m, n] = Q R, R upper triangular. "reduced": Q [..., m, k], R [..., k, n], k = min(m, n); "complete":
    Q [..., m, m], R [..., m, n]. The signs of R's diagonal are free."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is {mode!r}, but must be 'reduced' or 'complete'")
    return QRResult(*_ops.qr.default(a, mode == "complete"))


def cholesky(a: Tensor, *, upper: bool = False, check: bool = True) -> Tensor:
    """The factor of symmetric positive definite a [..., n, n]: a = L Lᵀ, or Uᵀ U when upper. One triangle is read.

    check: whether a matrix that is not positive definite raises torch.linalg.LinAlgError; without it, the factor
    has zeros from the failing column on.
    """
    factor, info = _ops.cholesky.default(a, upper)
    if check:
        _check_info("cholesky", info, "the matrix is not positive definite: pivot {} is not positive")
    return factor


def lu(a: Tensor) -> LUResult:
    """P a = L U with partial pivoting for a [..., m, n]; info is 0, or the number of the first pivot that is 0."""
    return LUResult(*_ops.lu.default(a))


def solve(a: Tensor, b: Tensor, *, check: bool = True) -> Tensor:
    """The x of a x = b: a [..., n, n], b [..., n, k], or [..., n] for one right-hand side per matrix, as
    torch.linalg.solve. check: whether a singular matrix raises torch.linalg.LinAlgError; otherwise its x is 0."""
    rank_a, rank_b = count_dimensions("solve", "a", a), count_dimensions("solve", "b", b)
    vector = rank_b == 1 or (rank_a - 1 == rank_b and b.shape == a.shape[:-1])
    a, right = _same_batch("solve", a, b.unsqueeze(-1) if vector else b)
    x, info = _ops.solve.default(a, right)
    if check:
        _check_info("solve", info, "the matrix is singular: pivot {} is 0")
    return x.squeeze(-1) if vector else x


def triangular_solve(a: Tensor, b: Tensor, *, upper: bool, left: bool = True, unitriangular: bool = False,
                     transposed: bool = False) -> Tensor:
    """The x of op(a) x = b, or of x op(a) = b when left is False, as torch.linalg.solve_triangular.

    a: [..., n, n], triangular (the other triangle is not read); op is the transpose when `transposed`.
    b: [..., n, k], or [..., k, n]. unitriangular: the diagonal counts as 1.
    """
    a, b = _same_batch("triangular_solve", a, b)
    return _ops.triangular_solve.default(a, b, upper, transposed, unitriangular, not left)


def lstsq(a: Tensor, b: Tensor, rcond: float | None = None) -> LstsqResult:
    """The x of least norm that minimises |a x - b|, for any rank: a [..., m, n], b [..., m, k], x [..., n, k].

    rcond: what counts as 0 relative to the largest pivot; float32's epsilon * max(m, n) if None. The gradient
    needs full rank.
    """
    a, b = _same_batch("lstsq", a, b)
    return LstsqResult(*_ops.lstsq.default(a, b, rcond or 0.0))


def _reads_upper(function: str, uplo: str) -> bool:
    """Whether UPLO names the upper triangle."""
    if uplo not in ("L", "U", "l", "u"):
        raise ValueError(f"{function}: UPLO is {uplo!r}, but must be 'L' or 'U'")
    return uplo in ("U", "u")


def eigh(a: Tensor, UPLO: str = "L") -> EighResult:  # noqa: N803 (torch's name)
    """Eigenvalues [..., n] in ascending order and eigenvectors [..., n, n] in columns, of symmetric a [..., n, n]."""
    return EighResult(*_ops.eigh.default(a, _reads_upper("eigh", UPLO)))


def eigvalsh(a: Tensor, UPLO: str = "L") -> Tensor:  # noqa: N803 (torch's name)
    """The eigenvalues [..., n] of symmetric a [..., n, n], in ascending order."""
    return _ops.eigvalsh.default(a, _reads_upper("eigvalsh", UPLO))


def svd(a: Tensor) -> SVDResult:
    """The reduced singular value decomposition of a [..., m, n]: U [..., m, k], S [..., k] in descending order,
    Vh [..., k, n], k = min(m, n)."""
    return SVDResult(*_ops.svd.default(a))


def svdvals(a: Tensor) -> Tensor:
    """The singular values [..., min(m, n)] of a [..., m, n], in descending order."""
    return _ops.svdvals.default(a)
