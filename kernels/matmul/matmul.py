"""matmul for PyTorch; see python/ingot/_torch/describe.py.

Its gradients are products again, so it can be differentiated as often as wanted. Overrides of products of few rows
with a large matrix, as in decoding.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from ingot._operations.pointwise import gelu, silu
from ingot._overrides.dispatch import native
from ingot._overrides.limits import limits, plain, within
from ingot._patch_rules import patches
from ingot._torch.describe import choice, count_dimensions, ctx_needs, lower, operator
from ingot._torch.epilogues import EPILOGUES, RELU, through_epilogue
from ingot._torch.rows import sum_rows

OPS = ("linear", "matmul")
NN = ("Linear",)


def d_a_of(a, b, d_z, transpose_a, transpose_b):
    """The gradient of a."""
    if transpose_a:
        return summed_to(Matmul(b, d_z, None, transpose_b, True), a)
    return summed_to(Matmul(d_z, b, None, False, not transpose_b), a)


def d_b_of(a, b, d_z, transpose_a, transpose_b):
    """The gradient of b."""
    if b.dim() == 2 and d_z.dim() > 2 and a.dim() == d_z.dim() and not transpose_a:
        a, d_z = a.flatten(0, -2), d_z.flatten(0, -2)
    if transpose_b:
        return summed_to(Matmul(d_z, a, None, True, transpose_a), b)
    return summed_to(Matmul(a, d_z, None, not transpose_a, False), b)


def summed_to(gradient: Tensor, operand: Tensor) -> Tensor:
    """Sums over the batch that the operand served as a whole."""
    return gradient if gradient.shape == operand.shape else gradient.sum_to_size(operand.shape)


@operator
class Matmul:
    schema = ("matmul(Tensor a, Tensor b, Tensor? bias=None, bool transpose_a=False, bool transpose_b=False,"
              " int epilogue=0) -> Tensor")
    autocast = lower("a", "b", "bias")

    def fake(a, b, bias, transpose_a, transpose_b, epilogue):
        rows, inner = (a.shape[-1], a.shape[-2]) if transpose_a else (a.shape[-2], a.shape[-1])
        inner_b, columns = (b.shape[-1], b.shape[-2]) if transpose_b else (b.shape[-2], b.shape[-1])
        torch._check(inner == inner_b, lambda: f"matmul: a has {inner} columns and b has {inner_b} rows")
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        return a.new_empty((*batch, rows, columns))

    def setup(ctx, inputs, output):
        a, b, bias, ctx.transpose_a, ctx.transpose_b, ctx.epilogue = inputs
        ctx.save_for_backward(a, b, bias, output if ctx.epilogue == RELU else None)

    def backward(ctx, d_out):
        a, b, bias, out = ctx.saved_tensors
        transposed = (ctx.transpose_a, ctx.transpose_b)
        d_z = through_epilogue(ctx.epilogue, d_out, out, lambda: Matmul(a, b, bias, *transposed))
        return (d_a_of(a, b, d_z, *transposed) if ctx_needs(ctx, 0) else None,
                d_b_of(a, b, d_z, *transposed) if ctx_needs(ctx, 1) else None,
                sum_rows(d_z.float()).to(bias.dtype) if ctx_needs(ctx, 2) else None, None, None, None)


# ---- ingot.ops and ingot.nn ------------------------------------------------------------------------------

_matmul = Matmul.direct
_SEPARATE = {2: silu, 3: gelu, 4: lambda x: gelu(x, "tanh")}  # epilogues whose gradient needs what comes before them


def _wants_gradient(*tensors: Tensor | None) -> bool:
    """Whether autograd will come back through a product of these tensors."""
    return torch.is_grad_enabled() and any(tensor is not None and tensor.requires_grad for tensor in tensors)


def matmul(a: Tensor, b: Tensor, bias: Tensor | None = None, *, transpose_a: bool = False,
           transpose_b: bool = False, activation: str | None = None) -> Tensor:
    """activation(a b + bias), summed in float32.

    a: [..., m, k], or [..., k, m] with transpose_a; b: [..., k, n], or [..., n, k] with transpose_b; batch
    dimensions are broadcast. A vector counts as a row (a) or a column (b), as in torch.matmul. bias: [n].
    activation: None, "relu", "silu", "gelu" or "gelu_tanh", applied before rounding. Returns [..., m, n].
    """
    epilogue = choice("matmul", "activation", activation, EPILOGUES)
    rank_a, rank_b = count_dimensions("matmul", "a", a), count_dimensions("matmul", "b", b)
    if rank_a == 0 or rank_b == 0:
        raise ValueError(f"matmul: both operands need at least 1 dimension, but they have {rank_a} and {rank_b}")
    row, column = rank_a == 1, rank_b == 1
    if row:
        a, transpose_a = a.unsqueeze(0), False
    if column:
        b, transpose_b = b.unsqueeze(-1), False
    if rank_a > 2 and rank_b > 2 and a.shape[:-2] != b.shape[:-2]:
        batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
        a, b = a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])
    separate = _SEPARATE.get(epilogue) if _wants_gradient(a, b, bias) else None
    out = _matmul(a, b, bias, transpose_a, transpose_b, 0 if separate else epilogue)
    if separate:  # the gradient needs the product before the activation
        out = separate(out)
    if column:
        out = out.squeeze(-1)
    return out.squeeze(-1 if column else -2) if row else out


def linear(x: Tensor, weight: Tensor, bias: Tensor | None = None, activation: str | None = None) -> Tensor:
    """activation(x weightᵀ + bias), as torch.nn.functional.linear. x: [..., k]; weight: [n, k]; bias: [n]."""
    if count_dimensions("linear", "x", x) <= 2:
        return matmul(x, weight, bias, transpose_b=True, activation=activation)
    flat = matmul(x.flatten(0, -2), weight, bias, transpose_b=True, activation=activation)
    return flat.unflatten(0, x.shape[:-1])


class Linear(nn.Linear):
    """torch.nn.Linear."""

    def forward(self, x: Tensor) -> Tensor:
        """x [..., in_features] to [..., out_features]."""
        return linear(x, self.weight, self.bias)


# ---- overrides: elements of the matrix, and rows of the other factor -------------------------------------

limits("matmul", "linear", "linear_rows")
native("matmul", "mm", original="_ZN2at3cpu2mmERKNS_6TensorES3_")
native("matmul", "linear",
       original="_ZN2at25compositeimplicitautograd6linearERKNS_6TensorES3_RKSt8optionalIS1_E")


def weight_fits(module: Any, force: bool) -> bool:
    """Whether a linear layer is large enough for a product of few rows by ingot."""
    weight = module.weight
    return weight.is_cpu and weight.is_contiguous() and within("linear", weight.dtype, weight.numel(), 0, force)


@patches(nn.Linear, "linear", "linear of few rows", wants=weight_fits)
def patched(self: Any, x: Any) -> Any:
    weight, bias = self._parameters["weight"], self._parameters["bias"]
    if torch.is_grad_enabled() and (weight.requires_grad or x.requires_grad):
        return NotImplemented
    features, force = self.in_features, self._ingot_always
    if x.ndim < 2 or x.shape[-1] != features or not within("linear_rows", x.dtype, x.numel() // features, 0, force):
        return NotImplemented
    if not weight_fits(self, force) or weight.dtype != x.dtype or not x.is_contiguous() or not plain(x, weight, bias):
        return NotImplemented
    return _matmul(x, weight, bias, False, True, 0)
