"""eigh and eigvalsh for PyTorch; see python/ingot/_torch/describe.py.

As everywhere, gradients of eigenvectors are those of functions that do not depend on the vectors' signs, and they grow
without bound as eigenvalues meet. Eigenvalues alone have gradients always.
"""
from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import limits
from ingot._torch.describe import float32, like, operator
from ingot._torch.matrices import column_major, gaps, in_float32, is_finite, matrices_fit

OPS = ("EighResult", "eigh", "eigvalsh")


def eigh_gradient(values: Tensor, vectors: Tensor, d_values: Tensor | None, d_vectors: Tensor | None) -> Tensor:
    """The gradient of a symmetric matrix from those of its eigenvalues and eigenvectors."""
    if d_vectors is None:
        return (vectors * d_values.unsqueeze(-2)) @ vectors.mT
    inner = (vectors.mT @ d_vectors) / gaps(values)
    inner = inner - torch.diag_embed(inner.diagonal(dim1=-2, dim2=-1))
    if d_values is not None:
        inner = inner + torch.diag_embed(d_values)
    return vectors @ inner @ vectors.mT


@operator
class Eigh:
    schema = "eigh(Tensor a, bool upper=False) -> (Tensor, Tensor)"
    autocast = float32("a")

    def fake(a, upper):
        return a.new_empty(a.shape[:-1]), like(a)

    def setup(ctx, inputs, output):
        ctx.dtype = inputs[0].dtype
        ctx.save_for_backward(*output)
        ctx.set_materialize_grads(False)

    def backward(ctx, d_values, d_vectors):
        if d_values is None and d_vectors is None:
            return None, None
        return eigh_gradient(*in_float32(*ctx.saved_tensors, d_values, d_vectors)).to(ctx.dtype), None


@operator
class Eigvalsh:
    """The vectors are computed when the gradient is asked for."""

    schema = "eigvalsh(Tensor a, bool upper=False) -> Tensor"
    autocast = float32("a")

    def fake(a, upper):
        return a.new_empty(a.shape[:-1])

    def setup(ctx, inputs, output):
        a, ctx.upper = inputs
        ctx.save_for_backward(a)

    def backward(ctx, d_values):
        (a,) = ctx.saved_tensors
        values, vectors, d_values = in_float32(*Eigh(a, ctx.upper), d_values)
        return eigh_gradient(values, vectors, d_values, None).to(a.dtype), None


_eigh, _eigvalsh = Eigh.direct, Eigvalsh.direct


class EighResult(NamedTuple):
    """a = eigenvectors diag(eigenvalues) eigenvectorsᵀ."""
    eigenvalues: Tensor
    eigenvectors: Tensor


def _reads_upper(function: str, uplo: str) -> bool:
    """Whether UPLO names the upper triangle."""
    if uplo not in ("L", "U", "l", "u"):
        raise ValueError(f"{function}: UPLO is {uplo!r}, but must be 'L' or 'U'")
    return uplo in ("U", "u")


def eigh(a: Tensor, UPLO: str = "L") -> EighResult:  # noqa: N803 (torch's name)
    """Eigenvalues [..., n] in ascending order and eigenvectors [..., n, n] in columns, of symmetric a [..., n, n]."""
    return EighResult(*_eigh(a, _reads_upper("eigh", UPLO)))


def eigvalsh(a: Tensor, UPLO: str = "L") -> Tensor:  # noqa: N803 (torch's name)
    """The eigenvalues [..., n] of symmetric a [..., n, n], in ascending order."""
    return _eigvalsh(a, _reads_upper("eigvalsh", UPLO))


limits("linalg", "eigh", "eigvalsh", float32_only=True)


@leaf("linalg", "_linalg_eigh")
def override(a: Any, UPLO: str = "L", compute_v: bool = True) -> Any:
    if UPLO not in "LlUu" or not matrices_fit("eigh" if compute_v else "eigvalsh", a) or not is_finite(a):
        return NotImplemented
    upper = UPLO in "Uu"
    if not compute_v:
        return Eigvalsh(a, upper), a.new_empty(0)
    values, vectors = Eigh(a, upper)
    return values, column_major(vectors)
