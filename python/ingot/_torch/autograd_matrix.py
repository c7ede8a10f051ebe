"""Gradients of matmul and of products with quantised weights. They are products again, so matmul can be
differentiated as often as wanted."""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ingot._torch.autograd_rows import sum_rows
from ingot._torch.registry import ctx_needs, differentiate, operator, refuse_gradient, refuse_gradient_of

EPILOGUE_RELU = 1
EPILOGUE_BACKWARDS = {2: "silu_backward", 3: "gelu_backward", 4: "gelu_tanh_backward"}


def register() -> None:
    """Registers the gradients."""
    register_matmul()
    register_quantised("quantised_matmul")
    register_quantised("quantised_matvec")
    refuse_gradient("quantise", "it rounds")
    refuse_gradient("dequantise", "quantised weights are constants")


def through_epilogue(epilogue: int, d_out: Tensor, out: Tensor, before: Any) -> Tensor:
    """The gradient before the epilogue; `before()` computes the product again where it is needed."""
    if epilogue == 0:
        return d_out
    if epilogue == EPILOGUE_RELU:
        return torch.where(out > 0, d_out, 0)
    return operator(EPILOGUE_BACKWARDS[epilogue])(d_out, before())


def fits(gradient: Tensor, operand: Tensor) -> Tensor:
    """Sums over the batch that the operand served as a whole."""
    if gradient.shape == operand.shape:
        return gradient
    return gradient.sum_to_size(operand.shape)


def register_matmul() -> None:
    """a, b and bias."""
    matmul = operator("matmul")

    def setup(ctx, inputs, output):
        a, b, bias, ctx.transpose_a, ctx.transpose_b, ctx.epilogue = inputs
        ctx.save_for_backward(a, b, bias, output if ctx.epilogue == EPILOGUE_RELU else None)

    def d_b_of(a, b, d_z, transpose_a, transpose_b):
        if b.dim() == 2 and d_z.dim() > 2 and a.dim() == d_z.dim() and not transpose_a:
            a, d_z = a.flatten(0, -2), d_z.flatten(0, -2)
        if transpose_b:
            return fits(matmul(d_z, a, None, True, transpose_a), b)
        return fits(matmul(a, d_z, None, not transpose_a, False), b)

    def d_a_of(a, b, d_z, transpose_a, transpose_b):
        if transpose_a:
            return fits(matmul(b, d_z, None, transpose_b, True), a)
        return fits(matmul(d_z, b, None, False, not transpose_b), a)

    def backward(ctx, d_out):
        a, b, bias, out = ctx.saved_tensors
        turned = (ctx.transpose_a, ctx.transpose_b)
        d_z = through_epilogue(ctx.epilogue, d_out, out, lambda: matmul(a, b, bias, *turned))
        return (d_a_of(a, b, d_z, *turned) if ctx_needs(ctx, 0) else None,
                d_b_of(a, b, d_z, *turned) if ctx_needs(ctx, 1) else None,
                sum_rows(d_z.float()).to(bias.dtype) if ctx_needs(ctx, 2) else None, None, None, None)

    differentiate("matmul", backward, setup)


def register_quantised(name: str) -> None:
    """x and bias; the weights are constants."""
    product, dequantise, matmul = operator(name), operator("dequantise"), operator("matmul")

    def setup(ctx, inputs, output):
        x, packed, scales, biases, ctx.bits, ctx.group, bias = inputs[:7]
        ctx.epilogue = inputs[7] if len(inputs) > 7 else 0
        refuse_gradient_of(name, "scales", scales)
        refuse_gradient_of(name, "biases", biases)
        keep_x = x if ctx.epilogue > EPILOGUE_RELU else None
        ctx.save_for_backward(packed, scales, biases, bias, keep_x,
                              output if ctx.epilogue == EPILOGUE_RELU else None)
        ctx.count = len(inputs)

    def backward(ctx, d_out):
        packed, scales, biases, bias, x, out = ctx.saved_tensors
        weights = (packed, scales, biases, ctx.bits, ctx.group)
        d_z = through_epilogue(ctx.epilogue, d_out, out, lambda: product(x, *weights, bias))
        gradients = [None] * ctx.count
        if ctx_needs(ctx, 0):
            rows = d_z.unsqueeze(0) if d_z.dim() == 1 else d_z
            d_x = matmul(rows, dequantise(*weights, d_z.dtype))
            gradients[0] = d_x.squeeze(0) if d_z.dim() == 1 else d_x
        if ctx_needs(ctx, 6):
            gradients[6] = sum_rows(d_z.float()).to(bias.dtype)
        return tuple(gradients)

    differentiate(name, backward, setup)
