"""qr for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ingot._operations.triangular import solve_triangular
from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import limits
from ingot._torch.describe import float32, operator
from ingot._torch.matrices import column_major, in_float32, matrices_fit

OPS = ("QRResult", "qr")


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


@operator
class Qr:
    """q and r have gradients where the decomposition determines them."""

    schema = "qr(Tensor a, bool complete=False) -> (Tensor, Tensor)"
    autocast = float32("a")

    def fake(a, complete):
        batch, rows, columns = a.shape[:-2], a.shape[-2], a.shape[-1]
        inner = rows if complete else torch.sym_min(rows, columns)
        return a.new_empty((*batch, rows, inner)), a.new_empty((*batch, inner, columns))

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


_qr = Qr.direct


class QRResult(NamedTuple):
    """a = Q R."""
    Q: Tensor
    R: Tensor


def qr(a: Tensor, mode: str = "reduced") -> QRResult:
    """a [..., m, n] = Q R, R upper triangular. "reduced": Q [..., m, k], R [..., k, n], k = min(m, n); "complete":
    Q [..., m, m], R [..., m, n]. The signs of R's diagonal are free."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is {mode!r}, but must be 'reduced' or 'complete'")
    return QRResult(*_qr(a, mode == "complete"))


limits("linalg", "qr", float32_only=True)


@leaf("linalg", "linalg_qr")
def override(a: Any, mode: str = "reduced") -> Any:
    if mode not in ("reduced", "complete") or not matrices_fit("qr", a, square=False):
        return NotImplemented
    q, r = Qr(a, mode == "complete")
    return column_major(q), column_major(r)
