"""Gradients of eigh, eigvalsh, svd and svdvals: compositions of differentiable operators, in float32 at least.

As everywhere, gradients of vectors are those of functions that do not depend on the vectors' signs, and they grow
without bound as eigenvalues (or singular values) meet. Values alone have gradients always.
"""
from __future__ import annotations

import torch
from torch import Tensor

from ingot._torch.autograd_linalg import in_float32
from ingot._torch.registry import differentiate, operator


def register() -> None:
    """Registers the gradients."""
    register_eigh()
    register_svd()


def gaps(values: Tensor) -> Tensor:
    """[i, j] = values[j] - values[i], and 1 on the diagonal."""
    differences = values.unsqueeze(-2) - values.unsqueeze(-1)
    return differences + torch.eye(values.shape[-1], dtype=values.dtype, device=values.device)


def eigh_gradient(values: Tensor, vectors: Tensor, d_values: Tensor | None, d_vectors: Tensor | None) -> Tensor:
    """The gradient of a symmetric matrix from those of its eigenvalues and eigenvectors."""
    if d_vectors is None:
        return (vectors * d_values.unsqueeze(-2)) @ vectors.mT
    inner = (vectors.mT @ d_vectors) / gaps(values)
    inner = inner - torch.diag_embed(inner.diagonal(dim1=-2, dim2=-1))
    if d_values is not None:
        inner = inner + torch.diag_embed(d_values)
    return vectors @ inner @ vectors.mT


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


def register_eigh() -> None:
    """eigh keeps its results; eigvalsh computes the vectors when the gradient is asked for."""
    eigh = operator("eigh")

    def setup(ctx, inputs, output):
        ctx.dtype = inputs[0].dtype
        ctx.save_for_backward(*output)
        ctx.set_materialize_grads(False)

    def backward(ctx, d_values, d_vectors):
        if d_values is None and d_vectors is None:
            return None, None
        return eigh_gradient(*in_float32(*ctx.saved_tensors, d_values, d_vectors)).to(ctx.dtype), None

    def setup_values(ctx, inputs, output):
        a, ctx.upper = inputs
        ctx.save_for_backward(a)

    def backward_values(ctx, d_values):
        (a,) = ctx.saved_tensors
        values, vectors, d_values = in_float32(*eigh(a, ctx.upper), d_values)
        return eigh_gradient(values, vectors, d_values, None).to(a.dtype), None

    differentiate("eigh", backward, setup)
    differentiate("eigvalsh", backward_values, setup_values)


def register_svd() -> None:
    """svd keeps its results; svdvals computes the vectors when the gradient is asked for."""
    svd = operator("svd")

    def setup(ctx, inputs, output):
        ctx.dtype = inputs[0].dtype
        ctx.save_for_backward(*output)
        ctx.set_materialize_grads(False)

    def backward(ctx, *gradients):
        if all(gradient is None for gradient in gradients):
            return None
        return svd_gradient(*in_float32(*ctx.saved_tensors, *gradients)).to(ctx.dtype)

    def setup_values(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def backward_values(ctx, d_s):
        (a,) = ctx.saved_tensors
        u, s, vh, d_s = in_float32(*svd(a), d_s)
        return svd_gradient(u, s, vh, None, d_s, None).to(a.dtype)

    differentiate("svd", backward, setup)
    differentiate("svdvals", backward_values, setup_values)
