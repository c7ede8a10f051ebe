"""Gradients of axpy, convert and the activations; the activations can be differentiated twice and more."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor

from ingot._torch.registry import differentiate, differentiate_by, direct, operator


def slope_of_silu(x: Tensor) -> Tensor:
    """The derivative of silu, from differentiable operators."""
    sigmoid = torch.sigmoid(x)
    return sigmoid * (1 + x * (1 - sigmoid))


def slope_of_gelu(x: Tensor) -> Tensor:
    """The derivative of gelu by erf."""
    return 0.5 * (1 + torch.erf(x * math.sqrt(0.5))) + x * torch.exp(-0.5 * x * x) / math.sqrt(2 * math.pi)


def slope_of_gelu_tanh(x: Tensor) -> Tensor:
    """The derivative of gelu by tanh."""
    factor, cubic = math.sqrt(2 / math.pi), 0.044715
    tanh = torch.tanh(factor * (x + cubic * x * x * x))
    return 0.5 * (1 + tanh) + 0.5 * x * (1 - tanh * tanh) * factor * (1 + 3 * cubic * x * x)


def gelu_tanh(x: Tensor) -> Tensor:
    """gelu by tanh, torch's own."""
    return F.gelu(x, approximate="tanh")


ACTIVATIONS = {"silu": (F.silu, slope_of_silu), "gelu": (F.gelu, slope_of_gelu),
               "gelu_tanh": (gelu_tanh, slope_of_gelu_tanh)}


def register() -> None:
    """Registers the gradients."""
    for name, (function, slope) in ACTIVATIONS.items():
        register_activation(name, slope)
        register_activation_mul(name, function, slope)
    register_axpy()
    register_convert()


def register_activation(name: str, slope) -> None:
    """NAME by NAME_backward, and that by the activation's slope."""
    backward_operator = direct(f"{name}_backward")

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def backward(ctx, d_out):
        return backward_operator(d_out, *ctx.saved_tensors)

    differentiate(name, backward, setup)
    differentiate_by(f"{name}_backward", lambda d_out, x: d_out * slope(x), 2)


def register_activation_mul(name: str, function, slope) -> None:
    """NAME_mul by NAME_mul_backward, and that by the activation and its slope."""
    backward_operator = direct(f"{name}_mul_backward")

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    def backward(ctx, d_out):
        return backward_operator(d_out, *ctx.saved_tensors)

    differentiate(f"{name}_mul", backward, setup)
    differentiate_by(f"{name}_mul_backward",
                     lambda d_out, gate, up: (d_out * up * slope(gate), d_out * function(gate)), 3)


def register_axpy() -> None:
    """alpha * x + y."""

    def setup(ctx, inputs, output):
        ctx.alpha = inputs[2]

    def backward(ctx, d_out):
        return d_out * ctx.alpha, d_out, None

    differentiate("axpy", backward, setup)


def register_convert() -> None:
    """The gradient goes back in the type of x."""
    convert = operator("convert")

    def setup(ctx, inputs, output):
        ctx.dtype = inputs[0].dtype

    def backward(ctx, d_out):
        return convert(d_out, ctx.dtype), None

    differentiate("convert", backward, setup)
