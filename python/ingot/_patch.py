"""`patch(model)`: modules of a model carried out by ingot.

A module that ingot can stand in for gets another class, made for the purpose: a subclass of its
own class with another `forward`. So the module stays the same object with the same parameters,
hooks and state_dict, isinstance holds, and `unpatch` only has to give the old class back. What
ingot does not take in a call goes to the module's own forward.
"""

from __future__ import annotations

import copyreg
import inspect
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import torch
from torch import nn

from ingot._patch_rules import BY_CLASS, FINDERS, GROUPS, Rejected, Rule, Run
from ingot._torch import load

load()  # the descriptions declare the rules

__all__ = ["PatchReport", "Patched", "patch", "unpatch"]


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


def _find(module: nn.Module) -> Rule | None:
    """What can stand in for a module; None for those not ours."""
    known = BY_CLASS.get(type(module))
    if known is not None:
        return known
    return next((rule for rule in (find(module) for find in FINDERS) if rule is not None), None)


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


def patch(model: nn.Module, *, always: bool = False, **groups: bool) -> PatchReport:
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
    for group in groups:
        if group not in GROUPS:
            raise TypeError(f"patch() got an unexpected keyword argument {group!r}; the groups are "
                            f"{', '.join(sorted(GROUPS))}")
    if not isinstance(model, nn.Module):
        raise TypeError(f"patch() takes a torch.nn.Module, not a {type(model).__name__}.")
    report = PatchReport()
    for path, module in list(model.named_modules()):
        original = type(module)
        if hasattr(original, "_ingot_original"):
            report.skipped.append(Patched(path, original.__name__, "patched already"))
            continue
        try:
            rule = _find(module)
        except Rejected as reason:
            report.skipped.append(Patched(path, original.__name__, str(reason)))
            continue
        if rule is None or not groups.get(rule.group, True) or (rule.wants and not rule.wants(module, always)):
            continue
        module.__class__ = _stand_in(original, rule.run)
        module._ingot_always = always
        report.swapped.append(Patched(path, original.__name__, f"ingot {rule.note}"))
    return report


# help() shows the groups, which the descriptions declare.
patch.__signature__ = inspect.Signature(
    [inspect.Parameter("model", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=nn.Module)]
    + [inspect.Parameter(group, inspect.Parameter.KEYWORD_ONLY, default=True, annotation=bool)
       for group in sorted(GROUPS)]
    + [inspect.Parameter("always", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=bool)],
    return_annotation=PatchReport,
)


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
