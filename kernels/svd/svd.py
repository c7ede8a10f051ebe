"""svd and svdvals for PyTorch; see python/ingot/_torch/describe.py.

As everywhere, gradients of singular vectors are those of functions that do not depend on the vectors' signs, and they
grow without bound as singular values meet. Singular values alone have gradients always.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import limits
from ingot._torch.describe import float32, operator
from ingot._torch.matrices import gaps, in_float32, is_finite, matrices_fit

OPS = ("SVDResult", "svd", "svdvals")


def svd_gradient(u: Tensor, s: Tensor, vh: Tensor, d_u: Tensor | None, d_s: Tensor | None,
                 d_vh: Tensor | None) -> Tensor:
    """The gradient of a = u diag(s) vh, reduced."""
    inner = torch.zeros_like(u[..., :0, :].mT @ u[..., :0, :])
    if d_s is not None:
        inner = inner + torch.diag_embed(d_s)
    squares = gaps(s * s) if d_u is not None or d_vh is not None else None
    outside = None
    if d_u is not None:
        product = u.mT @ d_u
        inner = inner + ((product - product.mT) / squares) * s.unsqueeze(-2)
        if u.shape[-2] > u.shape[-1]:
            outside = ((d_u - u @ product) / s.unsqueeze(-2)) @ vh
    if d_vh is not None:
        product = vh @ d_vh.mT
        inner = inner + s.unsqueeze(-1) * ((product - product.mT) / squares)
        if vh.shape[-1] > vh.shape[-2]:
            beyond = u @ ((d_vh - product.mT @ vh) / s.unsqueeze(-1))
            outside = beyond if outside is None else outside + beyond
    result = u @ inner @ vh
    return result if outside is None else result + outside


@operator
class Svd:
    schema = "svd(Tensor a) -> (Tensor, Tensor, Tensor)"
    autocast = float32("a")

    def fake(a):
        batch, rows, columns = a.shape[:-2], a.shape[-2], a.shape[-1]
        inner = torch.sym_min(rows, columns)
        return (a.new_empty((*batch, rows, inner)), a.new_empty((*batch, inner)),
                a.new_empty((*batch, inner, columns)))

    def setup(ctx, inputs, output):
        ctx.dtype = inputs[0].dtype
        ctx.save_for_backward(*output)
        ctx.set_materialize_grads(False)

    def backward(ctx, *gradients):
        if all(gradient is None for gradient in gradients):
            return None
        return svd_gradient(*in_float32(*ctx.saved_tensors, *gradients)).to(ctx.dtype)


@operator
class Svdvals:
    """The vectors are computed when the gradient is asked for."""

    schema = "svdvals(Tensor a) -> Tensor"
    autocast = float32("a")

    def fake(a):
        return a.new_empty((*a.shape[:-2], torch.sym_min(a.shape[-2], a.shape[-1])))

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def backward(ctx, d_s):
        (a,) = ctx.saved_tensors
        u, s, vh, d_s = in_float32(*Svd(a), d_s)
        return svd_gradient(u, s, vh, None, d_s, None).to(a.dtype)


_svd, _svdvals = Svd.direct, Svdvals.direct


class SVDResult(NamedTuple):
    """a = U diag(S) Vh."""
    U: Tensor
    S: Tensor
    Vh: Tensor


def svd(a: Tensor) -> SVDResult:
    """The reduced singular value decomposition of a [..., m, n]: U [..., m, k], S [..., k] in descending order,
    Vh [..., k, n], k = min(m, n)."""
    return SVDResult(*_svd(a))


def svdvals(a: Tensor) -> Tensor:
    """The singular values [..., min(m, n)] of a [..., m, n], in descending order."""
    return _svdvals(a)


limits("linalg", "svd", "svdvals", float32_only=True)


@leaf("linalg", "_linalg_svd")
def override(a: Any, full_matrices: bool = False, compute_uv: bool = True, *, driver: str | None = None) -> Any:
    if driver is not None or not matrices_fit("svd" if compute_uv else "svdvals", a, square=False):
        return NotImplemented
    if (compute_uv and full_matrices and a.shape[-1] != a.shape[-2]) or not is_finite(a):
        return NotImplemented
    if not compute_uv:
        return a.new_empty(0), Svdvals(a), a.new_empty(0)
    v, s, uh = Svd(a.mT)  # the transposed problem, as its results are wanted column-major
    return uh.mT, s, v.mT
