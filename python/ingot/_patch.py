"""`patch(model)`: modules of a model carried out by ingot.

A module that ingot can stand in for gets another class, made for the purpose: a subclass of its
own class with another `forward`. So the module stays the same object with the same parameters,
hooks and state_dict, isinstance holds, and `unpatch` only has to give the old class back. What
ingot does not take in a call goes to the module's own forward.
"""

from __future__ import annotations

import copyreg
import functools
import re
from dataclasses import dataclass, field
from typing import Any, Callable, NamedTuple

import torch
from torch import nn

from ingot import ops
from ingot._overrides import embedding, rows
from ingot._overrides.limits import FLOATS, fits, plain, within
from ingot.ops.direct import direct

__all__ = ["PatchReport", "Patched", "patch", "unpatch"]

Run = Callable[..., Any]
_ACTIVATIONS: dict[str, Run] = {
    "silu_mul": ops.silu_mul,
    "gelu_mul": ops.gelu_mul,
    "gelu_tanh_mul": functools.partial(ops.gelu_mul, approximate="tanh"),
}

_product, _bags = direct("matmul"), direct("embedding_bag")


class Patched(NamedTuple):
    """A module that was looked at."""

    path: str  # its name in the model
    module: str  # its class
    note: str  # what carries it out now, or why it was left alone


@dataclass
class PatchReport:
    """What patch() did; printed, it is a table."""

    swapped: list[Patched] = field(default_factory=list)
    skipped: list[Patched] = field(default_factory=list)

    def __str__(self) -> str:
        rows = [(p.path, p.module, p.note) for p in self.swapped]
        rows += [(p.path, p.module, f"left alone: {p.note}") for p in self.skipped]
        rows = [("module", "class", "now"), *rows]
        width = [max(len(row[i]) for row in rows) for i in (0, 1)]
        lines = [f"{path:<{width[0]}}  {kind:<{width[1]}}  {note}" for path, kind, note in rows]
        lines.append(f"{len(self.swapped)} swapped, {len(self.skipped)} left alone")
        return "\n".join(lines)


# ---- forwards: NotImplemented where the module's own forward is to do it --------------------------


def _rms_norm(self: Any, x: Any) -> Any:
    name = "rms_norm" if torch.is_grad_enabled() else "rms_norm_direct"
    if not fits(name, x, self._ingot_always):
        return NotImplemented
    weight, eps = self._parameters["weight"], self.eps
    eps = 2.0**-23 if eps is None else eps
    return ops.rms_norm(x, weight, eps) if eps > 0 and rows.affine(x, self.normalized_shape, weight) else NotImplemented


def _layer_norm(self: Any, x: Any) -> Any:
    name = "layer_norm" if torch.is_grad_enabled() else "layer_norm_direct"
    if not fits(name, x, self._ingot_always) or not self.eps > 0:
        return NotImplemented
    weight, bias = self.weight, self.bias
    if rows.affine(x, self.normalized_shape, weight, bias):
        return ops.layer_norm(x, weight, bias, self.eps)
    return NotImplemented


def _silu(self: Any, x: Any) -> Any:
    return ops.silu(x) if not self.inplace and fits("silu", x, self._ingot_always) else NotImplemented


def _gelu(self: Any, x: Any) -> Any:
    name = "gelu_tanh" if self.approximate == "tanh" else "gelu"
    return ops.gelu(x, self.approximate) if fits(name, x, self._ingot_always) else NotImplemented


def _softmax(self: Any, x: Any) -> Any:
    if self.dim is None or not rows.last(self.dim, x) or not fits("softmax", x, self._ingot_always):
        return NotImplemented
    return ops.softmax(x)


def _log_softmax(self: Any, x: Any) -> Any:
    if self.dim is None or not rows.last(self.dim, x) or not fits("log_softmax", x, self._ingot_always):
        return NotImplemented
    return ops.log_softmax(x)


def _cross_entropy(self: Any, logits: Any, targets: Any) -> Any:
    reduction = {"none": 0, "mean": 1, "sum": 2}[self.reduction]
    return rows.cross_entropy(
        logits,
        targets,
        self.weight,
        reduction,
        self.ignore_index,
        self.label_smoothing,
        force=self._ingot_always,
    )


def _embedding_bag(self: Any, indices: Any, offsets: Any = None, per_sample_weights: Any = None) -> Any:
    if self.max_norm is not None or self.sparse or self.scale_grad_by_freq or per_sample_weights is not None:
        return NotImplemented
    mode = {"sum": embedding.SUM, "mean": embedding.MEAN}.get(self.mode)
    if mode is None or self.padding_idx is not None or (indices.ndim == 2) == (offsets is not None):
        return NotImplemented
    weight, last = self.weight, bool(self.include_last_offset and offsets is not None)
    name = "embedding_bag_mean" if mode == embedding.MEAN else "embedding_bag"
    if not within(name, weight.dtype, indices.numel() * weight.shape[1], 0, self._ingot_always):
        return NotImplemented
    if not plain(weight, indices, offsets) or not weight.is_contiguous():
        return NotImplemented
    if offsets is not None and not embedding.bags_fit(indices, offsets, None, offsets.numel() - last, last):
        return NotImplemented
    try:
        return _bags(weight, indices, offsets, None, mode, last, None)[0]
    except RuntimeError:
        return NotImplemented  # an index that is none: torch is to say so


def _named_rms_norm(self: Any, x: Any, eps_name: str, offset: float) -> Any:
    name = "rms_norm" if torch.is_grad_enabled() else "rms_norm_direct"
    if not fits(name, x, self._ingot_always):
        return NotImplemented
    weight = self.weight
    if not rows.affine(x, weight.shape, weight):
        return NotImplemented
    return ops.rms_norm(x, weight + offset if offset else weight, getattr(self, eps_name))


def _gated_mlp(self: Any, x: Any, names: tuple[str, str, str], activation: str) -> Any:
    if not plain(x):
        return NotImplemented
    modules = self._modules
    gate = modules[names[0]]
    elements = x.numel() // (x.shape[-1] or 1) * gate.out_features
    if not within(activation, x.dtype, elements, 0, self._ingot_always):
        return NotImplemented
    return modules[names[2]](_ACTIVATIONS[activation](gate(x), modules[names[1]](x)))


def _linear(self: Any, x: Any) -> Any:
    weight, bias = self._parameters["weight"], self._parameters["bias"]
    if torch.is_grad_enabled() and (weight.requires_grad or x.requires_grad):
        return NotImplemented
    features, force = self.in_features, self._ingot_always
    if x.ndim < 2 or x.shape[-1] != features or not within("linear_rows", x.dtype, x.numel() // features, 0, force):
        return NotImplemented
    if not _weight_fits(self, force) or weight.dtype != x.dtype or not x.is_contiguous() or not plain(x, weight, bias):
        return NotImplemented
    return _product(x, weight, bias, False, True, 0)


def _weight_fits(module: Any, force: bool) -> bool:
    """Whether a linear layer is large enough for a product of few rows by ingot."""
    weight = module.weight
    return weight.is_cpu and weight.is_contiguous() and within("linear", weight.dtype, weight.numel(), 0, force)


# ---- which modules ------------------------------------------------------------------------------

# Exactly these classes of torch: by group, and what carries them out.
_TORCH_CLASSES: dict[type, tuple[str, Run, str]] = {
    nn.LayerNorm: ("normalization", _layer_norm, "layer_norm"),
    nn.SiLU: ("activations", _silu, "silu"),
    nn.GELU: ("activations", _gelu, "gelu"),
    nn.Softmax: ("softmax", _softmax, "softmax"),
    nn.LogSoftmax: ("softmax", _log_softmax, "log_softmax"),
    nn.EmbeddingBag: ("embedding_bag", _embedding_bag, "embedding_bag"),
    nn.CrossEntropyLoss: ("cross_entropy", _cross_entropy, "cross_entropy"),
    nn.RMSNorm: ("normalization", _rms_norm, "rms_norm"),
    nn.Linear: ("linear", _linear, "linear of few rows"),
}
_EPS_NAMES = ("variance_epsilon", "eps", "epsilon")
_MLP_NAMES = (("gate_proj", "up_proj", "down_proj"), ("w1", "w3", "w2"))
_MLP_CLASS = re.compile(r"(MLP|FeedForward|SwiGLU|GatedMlp)$", re.IGNORECASE)


class _Rejected(Exception):
    """Why a module that looks like one of ours is left alone."""


def _find(module: nn.Module) -> tuple[str, Run, str] | None:
    """The group, forward and name of what can stand in for a module; None for those not ours."""
    known = _TORCH_CLASSES.get(type(module))
    if known is not None:
        return known
    name = type(module).__name__
    own = not type(module).__module__.startswith("torch.nn.")
    if own and name.endswith("Norm") and isinstance(getattr(module, "weight", None), nn.Parameter):
        return _find_rms_norm(module)
    if _MLP_CLASS.search(name):
        return _find_mlp(module)
    return None


def _find_rms_norm(module: nn.Module) -> tuple[str, Run, str]:
    weight: Any = module.weight
    eps_name = next((n for n in _EPS_NAMES if isinstance(getattr(module, n, None), float)), None)
    extra = [n for n, _ in module.named_parameters() if n != "weight"] + [
        n for n, _ in module.named_children()
    ]
    if weight.ndim != 1 or eps_name is None or extra:
        raise _Rejected("more than a weight of one dimension and an epsilon")
    if weight.device.type != "cpu" or weight.dtype not in FLOATS:
        raise _Rejected(f"its weight is {weight.dtype} on {weight.device}")
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(2, 3, weight.numel(), generator=generator).to(weight.dtype)
    probe = torch.rand(weight.numel(), generator=generator).to(weight.dtype)
    expected = _own_result(module, {"weight": probe}, x)
    for offset, note in ((0.0, "rms_norm"), (1.0, "rms_norm with 1 + weight")):
        result = ops.rms_norm(x, probe + offset if offset else probe, getattr(module, eps_name))
        if _close(result, expected):
            return "normalization", functools.partial(_named_rms_norm, eps_name=eps_name, offset=offset), note
    raise _Rejected("its results are not those of rms_norm")


def _find_mlp(module: nn.Module) -> tuple[str, Run, str] | None:
    names = next(
        (n for n in _MLP_NAMES if all(isinstance(getattr(module, x, None), nn.Linear) for x in n)), None
    )
    if names is None:
        return None
    gate, up, down = (getattr(module, n) for n in names)
    if any(m.p for m in module.modules() if isinstance(m, nn.Dropout)):
        raise _Rejected("it has dropout")
    if (
        gate.weight.device.type != "cpu"
        or gate.weight.dtype not in FLOATS
        or up.weight.dtype != gate.weight.dtype
    ):
        raise _Rejected(f"its weight is {gate.weight.dtype} on {gate.weight.device}")
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(3, gate.in_features, generator=generator).to(gate.weight.dtype)
    expected = _own_result(module, {}, x)
    with torch.no_grad():
        inner = gate(x), up(x)
        for activation in ("silu_mul", "gelu_tanh_mul", "gelu_mul"):
            if _close(down(_ACTIVATIONS[activation](*inner)), expected):
                return "mlp", functools.partial(_gated_mlp, names=names, activation=activation), activation
    raise _Rejected(f"its results are not those of {names[2]}(f({names[0]}(x)) * {names[1]}(x))")


def _own_result(module: nn.Module, parameters: dict[str, Any], x: Any) -> Any:
    try:
        with torch.no_grad():
            return torch.func.functional_call(module, parameters, (x,))
    except Exception as error:  # a module of someone else: whatever it raises, it is left alone
        raise _Rejected(f"it does not take one tensor ({type(error).__name__}: {error})") from None


def _close(result: Any, expected: Any) -> bool:
    if (
        not isinstance(expected, torch.Tensor)
        or expected.dtype != result.dtype
        or expected.shape != result.shape
    ):
        return False
    # The tolerance tells formulas apart, not roundings: a few units of the type at the largest value.
    scale = float(expected.abs().max())
    return bool((result - expected).abs().max() <= 8 * torch.finfo(result.dtype).eps * max(scale, 1e-6))


# ---- the swap -----------------------------------------------------------------------------------


def _stand_in(original: type, run: Run) -> type:
    """A subclass of `original` whose forward tries `run` first."""

    def forward(self: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            result = run(self, *args, **kwargs)
        except TypeError:
            if args and isinstance(args[0], torch.Tensor) and not kwargs:
                raise
            result = NotImplemented  # called in a way of its own
        return original.forward(self, *args, **kwargs) if result is NotImplemented else result

    def reduce(self: Any, protocol: Any) -> Any:
        """Pickled, it is a module of the class it was made from."""
        state = {k: v for k, v in self.__dict__.items() if k != "_ingot_always"}
        return copyreg._reconstructor, (original, object, None), state

    return type(
        f"Ingot{original.__name__}",
        (original,),
        {
            "forward": forward,
            "__reduce_ex__": reduce,
            "__module__": original.__module__,
            "_ingot_original": original,
        },
    )


def patch(
    model: nn.Module,
    *,
    normalization: bool = True,
    activations: bool = True,
    softmax: bool = True,
    embedding_bag: bool = True,
    cross_entropy: bool = True,
    linear: bool = True,
    mlp: bool = True,
    always: bool = False,
) -> PatchReport:
    """Let ingot carry out the modules of a model that it has operations for.

    Swapped are torch.nn's RMSNorm, LayerNorm, SiLU, GELU, Softmax, LogSoftmax, EmbeddingBag and
    CrossEntropyLoss; large Linear layers, for calls of few rows without a gradient; classes of
    others named …Norm, with a weight and an epsilon, that compute rms_norm; and feed-forward
    modules of gate, up and down projections (mlp). The last two are compared with ingot's result
    on random input first and left alone where they differ. Each group can be switched off.

    A call goes to ingot where that was measured to be faster, by type and size, or with `always`
    wherever ingot can do it; else the module's own forward does it.

    Parameters stay the same objects. unpatch(model) undoes it; saved with torch.save or copied, a
    patched module is one of its original class. Returns a report; print it.
    """
    groups = {
        "normalization": normalization,
        "activations": activations,
        "softmax": softmax,
        "embedding_bag": embedding_bag,
        "cross_entropy": cross_entropy,
        "linear": linear,
        "mlp": mlp,
    }
    if not isinstance(model, nn.Module):
        raise TypeError(f"patch() takes a torch.nn.Module, not a {type(model).__name__}.")
    report = PatchReport()
    for path, module in list(model.named_modules()):
        original = type(module)
        if hasattr(original, "_ingot_original"):
            report.skipped.append(Patched(path, original.__name__, "patched already"))
            continue
        try:
            found = _find(module)
        except _Rejected as reason:
            report.skipped.append(Patched(path, original.__name__, str(reason)))
            continue
        if found is None or not groups[found[0]]:
            continue
        if original is nn.Linear and not _weight_fits(module, always):
            continue
        _, run, note = found
        module.__class__ = _stand_in(original, run)
        module._ingot_always = always
        report.swapped.append(Patched(path, original.__name__, f"ingot {note}"))
    return report


def unpatch(model: nn.Module) -> int:
    """Give all patched modules of a model their own classes back; returns how many there were."""
    count = 0
    for module in model.modules():
        original = getattr(type(module), "_ingot_original", None)
        if original is not None:
            module.__class__ = original
            del module._ingot_always
            count += 1
    return count
