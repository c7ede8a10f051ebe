"""The activations for PyTorch, alone or times a second input; see python/ingot/_torch/describe.py.

They can be differentiated twice and more. Overrides of silu and gelu, and of their gradients.
"""
from __future__ import annotations

import functools
import math
import re
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ingot._overrides.dispatch import leaf
from ingot._overrides.limits import FLOATS, fits, gradient_fits, limits, plain, within
from ingot._patch_rules import Rejected, Rule, close, finds, own_result, patches
from ingot._torch.describe import choice, like, operator, widest

OPS = ("gelu", "gelu_mul", "silu", "silu_mul")
NN = ("GELU", "SiLU")
FORMULAS = {"none": 0, "tanh": 1}  # of gelu

# ---- operators -------------------------------------------------------------------------------------------


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


class Activation:
    def fake(x):
        return like(x)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])


class ActivationBackward:
    def fake(d_out, x):
        return like(x)


class Product:
    autocast = widest("gate", "up")

    def fake(gate, up):
        return like(gate)

    def setup(ctx, inputs, output):
        ctx.save_for_backward(*inputs)


class ProductBackward:
    def fake(d_out, gate, up):
        return like(gate), like(up)


@operator
class SiluBackward(ActivationBackward):
    schema = "silu_backward(Tensor d_out, Tensor x) -> Tensor"

    def formula(d_out, x):
        return d_out * slope_of_silu(x)


@operator
class Silu(Activation):
    schema = "silu(Tensor x) -> Tensor"

    def backward(ctx, d_out):
        return SiluBackward.direct(d_out, *ctx.saved_tensors)


@operator
class GeluBackward(ActivationBackward):
    schema = "gelu_backward(Tensor d_out, Tensor x) -> Tensor"

    def formula(d_out, x):
        return d_out * slope_of_gelu(x)


@operator
class Gelu(Activation):
    schema = "gelu(Tensor x) -> Tensor"

    def backward(ctx, d_out):
        return GeluBackward.direct(d_out, *ctx.saved_tensors)


@operator
class GeluTanhBackward(ActivationBackward):
    schema = "gelu_tanh_backward(Tensor d_out, Tensor x) -> Tensor"

    def formula(d_out, x):
        return d_out * slope_of_gelu_tanh(x)


@operator
class GeluTanh(Activation):
    schema = "gelu_tanh(Tensor x) -> Tensor"

    def backward(ctx, d_out):
        return GeluTanhBackward.direct(d_out, *ctx.saved_tensors)


@operator
class SiluMulBackward(ProductBackward):
    schema = "silu_mul_backward(Tensor d_out, Tensor gate, Tensor up) -> (Tensor, Tensor)"

    def formula(d_out, gate, up):
        return d_out * up * slope_of_silu(gate), d_out * F.silu(gate)


@operator
class SiluMul(Product):
    schema = "silu_mul(Tensor gate, Tensor up) -> Tensor"

    def backward(ctx, d_out):
        return SiluMulBackward.direct(d_out, *ctx.saved_tensors)


@operator
class GeluMulBackward(ProductBackward):
    schema = "gelu_mul_backward(Tensor d_out, Tensor gate, Tensor up) -> (Tensor, Tensor)"

    def formula(d_out, gate, up):
        return d_out * up * slope_of_gelu(gate), d_out * F.gelu(gate)


@operator
class GeluMul(Product):
    schema = "gelu_mul(Tensor gate, Tensor up) -> Tensor"

    def backward(ctx, d_out):
        return GeluMulBackward.direct(d_out, *ctx.saved_tensors)


@operator
class GeluTanhMulBackward(ProductBackward):
    schema = "gelu_tanh_mul_backward(Tensor d_out, Tensor gate, Tensor up) -> (Tensor, Tensor)"

    def formula(d_out, gate, up):
        return d_out * up * slope_of_gelu_tanh(gate), d_out * F.gelu(gate, approximate="tanh")


@operator
class GeluTanhMul(Product):
    schema = "gelu_tanh_mul(Tensor gate, Tensor up) -> Tensor"

    def backward(ctx, d_out):
        return GeluTanhMulBackward.direct(d_out, *ctx.saved_tensors)


# ---- ingot.ops and ingot.nn ------------------------------------------------------------------------------

_silu, _gelu, _gelu_tanh = Silu.direct, Gelu.direct, GeluTanh.direct
_silu_mul, _gelu_mul, _gelu_tanh_mul = SiluMul.direct, GeluMul.direct, GeluTanhMul.direct


def silu(x: Tensor) -> Tensor:
    """x / (1 + exp(-x)), element by element."""
    return _silu(x)


def gelu(x: Tensor, approximate: str = "none") -> Tensor:
    """x times the normal distribution at x, element by element.

    approximate: "none" computes by erf, "tanh" by the tanh formula, as torch.nn.functional.gelu.
    """
    return _gelu_tanh(x) if choice("gelu", "approximate", approximate, FORMULAS) else _gelu(x)


def silu_mul(gate: Tensor, up: Tensor) -> Tensor:
    """silu(gate) * up: the inner part of SwiGLU. Both have one shape; they may be halves of one tensor."""
    return _silu_mul(gate, up)


def gelu_mul(gate: Tensor, up: Tensor, approximate: str = "none") -> Tensor:
    """gelu(gate) * up: the inner part of GeGLU; see gelu for `approximate`."""
    tanh = choice("gelu_mul", "approximate", approximate, FORMULAS)
    return _gelu_tanh_mul(gate, up) if tanh else _gelu_mul(gate, up)


class SiLU(nn.SiLU):
    """torch.nn.SiLU; with inplace=True the result is copied back into the input."""

    def forward(self, x: Tensor) -> Tensor:
        """Element by element."""
        return x.copy_(silu(x)) if self.inplace else silu(x)


class GELU(nn.GELU):
    """torch.nn.GELU, by erf or by tanh."""

    def forward(self, x: Tensor) -> Tensor:
        """Element by element."""
        return gelu(x, self.approximate)


# ---- overrides -------------------------------------------------------------------------------------------

limits("activations", "silu", "silu_backward", "gelu", "gelu_backward", "gelu_tanh", "gelu_tanh_backward")


@leaf("activations", "silu", original="_ZN2at3cpu4siluERKNS_6TensorE")
def override_silu(x: Any) -> Any:
    return Silu(x) if fits("silu", x) else NotImplemented


@leaf("activations", "silu_backward", original="_ZN2at3cpu13silu_backwardERKNS_6TensorES3_")
def override_silu_backward(d_out: Any, x: Any) -> Any:
    return SiluBackward(d_out, x) if gradient_fits("silu_backward", d_out, x) else NotImplemented


@leaf("activations", "gelu", in_c=("gelu", "gelu_tanh"),
      original="_ZN2at3cpu4geluERKNS_6TensorESt17basic_string_viewIcSt11char_traitsIcEE")
def override_gelu(x: Any, *, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return GeluTanh(x) if fits("gelu_tanh", x) else NotImplemented
    return Gelu(x) if approximate == "none" and fits("gelu", x) else NotImplemented


@leaf("activations", "gelu_backward", in_c=("gelu_backward", "gelu_tanh_backward"),
      original="_ZN2at3cpu13gelu_backwardERKNS_6TensorES3_St17basic_string_viewIcSt11char_traitsIcEE")
def override_gelu_backward(d_out: Any, x: Any, *, approximate: str = "none") -> Any:
    if approximate == "tanh":
        return GeluTanhBackward(d_out, x) if gradient_fits("gelu_tanh_backward", d_out, x) else NotImplemented
    if approximate == "none" and gradient_fits("gelu_backward", d_out, x):
        return GeluBackward(d_out, x)
    return NotImplemented


# ---- ingot.patch -----------------------------------------------------------------------------------------


@patches(nn.SiLU, "activations", "silu")
def patched_silu(self: Any, x: Any) -> Any:
    return silu(x) if not self.inplace and fits("silu", x, self._ingot_always) else NotImplemented


@patches(nn.GELU, "activations", "gelu")
def patched_gelu(self: Any, x: Any) -> Any:
    name = "gelu_tanh" if self.approximate == "tanh" else "gelu"
    return gelu(x, self.approximate) if fits(name, x, self._ingot_always) else NotImplemented


PRODUCTS = {"silu_mul": silu_mul, "gelu_tanh_mul": functools.partial(gelu_mul, approximate="tanh"),
            "gelu_mul": gelu_mul}
MLP_NAMES = (("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2"))
MLP_CLASS = r"(MLP|FeedForward|SwiGLU|GatedMlp)$"


def patched_mlp(self: Any, x: Any, names: tuple[str, str, str], activation: str) -> Any:
    """A feed-forward module of gate, up and down projections."""
    if not plain(x):
        return NotImplemented
    modules = self._modules
    gate = modules[names[0]]
    elements = x.numel() // (x.shape[-1] or 1) * gate.out_features
    if not within(activation, x.dtype, elements, 0, self._ingot_always):
        return NotImplemented
    return modules[names[2]](PRODUCTS[activation](gate(x), modules[names[1]](x)))


@finds("mlp")
def find_mlp(module: nn.Module) -> Rule | None:
    """Modules of others, by their class's name and by what they compute."""
    names = next((n for n in MLP_NAMES if all(isinstance(getattr(module, x, None), nn.Linear) for x in n)), None)
    if names is None or not re.search(MLP_CLASS, type(module).__name__, re.IGNORECASE):
        return None
    gate, up, down = (getattr(module, n) for n in names)
    if any(m.p for m in module.modules() if isinstance(m, nn.Dropout)):
        raise Rejected("it has dropout")
    weight = gate.weight
    if weight.device.type != "cpu" or weight.dtype not in FLOATS or up.weight.dtype != weight.dtype:
        raise Rejected(f"its weight is {weight.dtype} on {weight.device}")
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, gate.in_features, generator=generator).to(weight.dtype)
    expected = own_result(module, {}, x)
    with torch.no_grad():
        inner = gate(x), up(x)
        for activation, product in PRODUCTS.items():
            if close(down(product(*inner)), expected):
                return Rule("mlp", functools.partial(patched_mlp, names=names, activation=activation), activation)
    raise Rejected(f"its results are not those of {names[2]}(f({names[0]}(x)) * {names[1]}(x))")
