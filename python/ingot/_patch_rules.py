"""Which modules ingot.patch can swap, and what carries them out: declared by the descriptions of the operations."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import nn

__all__ = ["BY_CLASS", "FINDERS", "GROUPS", "Rejected", "Rule", "close", "finds", "own_result", "patches"]

Run = Callable[..., Any]


class Rule:
    """What stands in for a module.

    run: of the module and its inputs; NotImplemented where the module's own forward is to do it. note: what it is, for
    the report. wants: of a module and `always`, whether it is worth while.
    """

    def __init__(self, group: str, run: Run, note: str, wants: Callable[[Any, bool], bool] | None = None) -> None:
        self.group, self.run, self.note, self.wants = group, run, note, wants


BY_CLASS: dict[type, Rule] = {}  # exactly these classes of torch
FINDERS: list[Callable[[nn.Module], Rule | None]] = []  # for classes of others
GROUPS: set[str] = set()


class Rejected(Exception):
    """Why a module that looks like one of ours is left alone."""


def patches(kind: type, group: str, note: str,
            wants: Callable[[Any, bool], bool] | None = None) -> Callable[[Run], Run]:
    """Declares the forward for a class of torch.nn."""

    def declared(run: Run) -> Run:
        BY_CLASS[kind] = Rule(group, run, note, wants)
        GROUPS.add(group)
        return run

    return declared


def finds(group: str) -> Callable[[Callable[[nn.Module], Rule | None]], Callable[[nn.Module], Rule | None]]:
    """Declares a function that has a rule for modules of others, None for what is not its, or raises Rejected."""

    def declared(find: Callable[[nn.Module], Rule | None]) -> Callable[[nn.Module], Rule | None]:
        FINDERS.append(find)
        GROUPS.add(group)
        return find

    return declared


def own_result(module: nn.Module, parameters: dict[str, Any], x: Any) -> Any:
    """What a module computes of one tensor, with these parameters."""
    try:
        with torch.no_grad():
            return torch.func.functional_call(module, parameters, (x,))
    except Exception as error:  # a module of someone else: whatever it raises, it is left alone
        raise Rejected(f"it does not take one tensor ({type(error).__name__}: {error})") from None


def close(result: Any, expected: Any) -> bool:
    """Whether two results are those of one formula."""
    if (
        not isinstance(expected, torch.Tensor)
        or expected.dtype != result.dtype
        or expected.shape != result.shape
    ):
        return False
    # The tolerance tells formulas apart, not roundings: a few units of the type at the largest value.
    scale = float(expected.abs().max())
    return bool((result - expected).abs().max() <= 8 * torch.finfo(result.dtype).eps * max(scale, 1e-6))
