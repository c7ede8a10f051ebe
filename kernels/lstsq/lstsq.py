"""lstsq for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ingot._operations.qr import Qr
from ingot._operations.triangular import solve_triangular
from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import always, limits, plain
from ingot._torch.describe import float32, operator
from ingot._torch.matrices import batch_of, in_float32, is_known, matrices_fit, same_batch

OPS = ("LstsqResult", "lstsq")
# What pays: any matrix of up to 64 rows and columns, larger ones with so many times as many rows as columns.
LARGEST, TALL = 64, 8


def lstsq_gradients(a: Tensor, b: Tensor, x: Tensor, d_x: Tensor) -> tuple[Tensor, Tensor]:
    """The gradients of a and b, a of full rank.

    Tall: a'a dx = da' (b - a x) + a' (db - da x). Wide: x = a' y with a a' y = b. Both triangular systems come
    from the qr decomposition of a (or a').
    """
    rows, columns = a.shape[-2], a.shape[-1]
    tall = rows >= columns
    r = torch.linalg.qr(a if tall else a.mT, mode="r")[1] if a.dtype == torch.float64 else \
        Qr(a if tall else a.mT)[1]

    def normal_solve(right_side: Tensor) -> Tensor:
        half = solve_triangular(r, right_side, upper=True, transposed=True)
        return solve_triangular(r, half, upper=True)

    if tall:
        w = normal_solve(d_x)
        d_b = a @ w
        return (b - a @ x) @ w.mT - d_b @ x.mT, d_b
    y, d_b = normal_solve(b), normal_solve(a @ d_x)
    return y @ (d_x - a.mT @ d_b).mT - d_b @ x.mT, d_b


@operator
class Lstsq:
    """a and b of full rank have gradients; at a lower rank the solution of least norm jumps."""

    schema = "lstsq(Tensor a, Tensor b, float rcond=0.0) -> (Tensor, Tensor)"
    autocast = float32("a", "b")

    def fake(a, b, rcond):
        return b.new_empty((*b.shape[:-2], a.shape[-1], b.shape[-1])), batch_of(a)

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


_lstsq = Lstsq.direct


class LstsqResult(NamedTuple):
    """The solution of least squares, and the rank of each matrix."""
    solution: Tensor
    rank: Tensor


def lstsq(a: Tensor, b: Tensor, rcond: float | None = None) -> LstsqResult:
    """The x of least norm that minimises |a x - b|, for any rank: a [..., m, n], b [..., m, k], x [..., n, k].

    rcond: what counts as 0 relative to the largest pivot; float32's epsilon * max(m, n) if None. The gradient
    needs full rank.
    """
    a, b = same_batch("lstsq", a, b)
    return LstsqResult(*_lstsq(a, b, rcond or 0.0))


limits("linalg", "lstsq", float32_only=True)


@leaf("linalg", "linalg_lstsq")
def override(a: Any, b: Any, rcond: float | None = None, *, driver: str | None = None) -> Any:
    if driver not in (None, "gelsy") or rcond is not None or not matrices_fit("lstsq", a, square=False):
        return NotImplemented
    rows, columns = a.shape[-2:]
    if rows < TALL * columns and max(rows, columns) > LARGEST and not always("lstsq"):
        return NotImplemented
    if (
        not plain(b)
        or a.dtype != b.dtype
        or b.ndim != a.ndim
        or b.shape[:-1] != a.shape[:-1]
        or not b.numel()
    ):
        return NotImplemented
    x, rank = Lstsq(a, b)
    # torch's solution is the first rows of where the right sides were.
    room = x.new_empty(*b.shape[:-2], b.shape[-1], max(rows, columns)).mT
    solution = room[..., :columns, :].copy_(x)
    return solution, x.new_empty(0), rank.to(torch.int64), x.new_empty(0)
