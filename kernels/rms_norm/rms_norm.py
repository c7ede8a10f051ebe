"""rms_norm for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

import functools
from typing import Any, Sequence

import torch
from torch import Tensor, nn

from ingot._overrides.dispatch import composite
from ingot._overrides.limits import FLOATS, affine, fits, limits
from ingot._patch_rules import Rejected, Rule, close, finds, own_result, patches
from ingot._torch.describe import float32, like, like_or_absent, operator
from ingot._torch.rows import as_rows, sum_rows

OPS = ("rms_norm",)
NN = ("RMSNorm",)
EPSILON = 2.0**-23  # of float32: torch computes half types in it, and takes its epsilon


def gradients(d_out: Tensor, x: Tensor, weight: Tensor | None, eps: float) -> tuple[Tensor, Tensor]:
    """d_x and d_weight, from differentiable operators."""
    reciprocal = torch.rsqrt((x * x).mean(-1, keepdim=True) + eps)
    normal = x * reciprocal
    weighted = d_out if weight is None else d_out * weight
    d_x = reciprocal * (weighted - normal * (weighted * normal).mean(-1, keepdim=True))
    return d_x, x.new_empty(0) if weight is None else sum_rows(d_out * normal)


@operator
class Backward:
    schema = "rms_norm_backward(Tensor d_out, Tensor x, Tensor? weight=None, float eps=1e-6) -> (Tensor, Tensor)"
    formula = gradients

    def fake(d_out, x, weight, eps):
        return like(x), like_or_absent(weight, x)


@operator
class Forward:
    schema = "rms_norm(Tensor x, Tensor? weight=None, float eps=1e-6) -> Tensor"
    autocast = float32("x", "weight")

    def fake(x, weight, eps):
        return like(x)

    def setup(ctx, inputs, output):
        x, weight, ctx.eps = inputs
        ctx.save_for_backward(x, weight)

    def backward(ctx, d_out):
        x, weight = ctx.saved_tensors
        d_x, d_weight = Backward.direct(d_out, x, weight, ctx.eps)
        return d_x, None if weight is None else d_weight, None


_rms_norm = Forward.direct


def rms_norm(x: Tensor, weight: Tensor | None = None, eps: float = 1e-6) -> Tensor:
    """x / sqrt(mean(x²) + eps) * weight over the last dimension.

    x: [..., C]. weight: [C], of x's type or float32. Returns [..., C] of x's type.
    """
    return _rms_norm(x, weight, eps)


class RMSNorm(nn.RMSNorm):
    """torch.nn.RMSNorm. eps=None is float32's epsilon, for half types too, as there."""

    def forward(self, x: Tensor) -> Tensor:
        """x [..., *normalized_shape] to the same shape."""
        eps = torch.finfo(torch.float32).eps if self.eps is None else self.eps
        weight = None if self.weight is None else self.weight.flatten()
        return rms_norm(as_rows(x, self.normalized_shape), weight, eps).view(x.shape)


# ---- overrides; names with _direct are for calls without a gradient --------------------------------------

limits("normalization", "rms_norm", "rms_norm_direct")


@composite("normalization", "rms_norm", in_c=("rms_norm",),
           original="_ZN2at25compositeimplicitautograd8rms_normERKNS_6TensorEN3c108ArrayRefIlEERKSt8optionalIS1_ES7_IdE")
def override(x: Any, normalized_shape: Sequence[int], weight: Any = None, eps: Any = None) -> Any:
    eps = EPSILON if eps is None else eps
    if fits("rms_norm", x) and eps > 0 and affine(x, normalized_shape, weight):
        return Forward(x, weight, eps)
    return NotImplemented


# ---- ingot.patch -----------------------------------------------------------------------------------------

EPS_NAMES = ("variance_epsilon", "eps", "epsilon")


def limit() -> str:
    """The name of the limit for a call of a module."""
    return "rms_norm" if torch.is_grad_enabled() else "rms_norm_direct"


@patches(nn.RMSNorm, "normalization", "rms_norm")
def patched(self: Any, x: Any) -> Any:
    if not fits(limit(), x, self._ingot_always):
        return NotImplemented
    weight, eps = self._parameters["weight"], EPSILON if self.eps is None else self.eps
    return rms_norm(x, weight, eps) if eps > 0 and affine(x, self.normalized_shape, weight) else NotImplemented


def patched_like(self: Any, x: Any, eps_name: str, offset: float) -> Any:
    """A module of others that was found to compute rms_norm, perhaps with weight + offset."""
    weight = self.weight
    if not fits(limit(), x, self._ingot_always) or not affine(x, weight.shape, weight):
        return NotImplemented
    return rms_norm(x, weight + offset if offset else weight, getattr(self, eps_name))


@finds("normalization")
def find_like(module: nn.Module) -> Rule | None:
    """Classes of others named …Norm with a weight and an epsilon, where they compute rms_norm."""
    weight: Any = getattr(module, "weight", None)
    own = not type(module).__module__.startswith("torch.nn.")
    if not own or not type(module).__name__.endswith("Norm") or not isinstance(weight, nn.Parameter):
        return None
    eps_name = next((n for n in EPS_NAMES if isinstance(getattr(module, n, None), float)), None)
    extra = [n for n, _ in module.named_parameters() if n != "weight"] + [n for n, _ in module.named_children()]
    if weight.ndim != 1 or eps_name is None or extra:
        raise Rejected("more than a weight of one dimension and an epsilon")
    if weight.device.type != "cpu" or weight.dtype not in FLOATS:
        raise Rejected(f"its weight is {weight.dtype} on {weight.device}")
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, weight.numel(), generator=generator).to(weight.dtype)
    probe = torch.rand(weight.numel(), generator=generator).to(weight.dtype)
    expected = own_result(module, {"weight": probe}, x)
    for offset, note in ((0.0, "rms_norm"), (1.0, "rms_norm with 1 + weight")):
        result = rms_norm(x, probe + offset if offset else probe, getattr(module, eps_name))
        if close(result, expected):
            return Rule("normalization", functools.partial(patched_like, eps_name=eps_name, offset=offset), note)
    raise Rejected("its results are not those of rms_norm")
