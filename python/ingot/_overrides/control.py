"""Switching overrides on and off: torch's own operators carried out by ingot.

enable_overrides() routes operators such as F.silu, softmax and torch.linalg.qr on CPU tensors to
ingot's kernels; disable_overrides() restores torch's exactly. See docs/guide/overrides.md.
"""

from __future__ import annotations

import contextlib
import inspect
import threading
from typing import Any, Iterator, NamedTuple

from ingot import _C
from ingot._overrides import limits
from ingot._overrides.dispatch import REPLACEMENTS, Replacement
from ingot._overrides.limits import GROUPS
from ingot._torch import load

load()  # the descriptions declare the overrides

__all__ = [
    "OverrideCount",
    "disable_overrides",
    "enable_overrides",
    "override_counts",
    "override_report",
    "overrides",
    "reset_override_counts",
]

Mode = bool | str

_lock = threading.RLock()
_modes: dict[str, Mode] = dict.fromkeys(GROUPS, False)


class OverrideCount(NamedTuple):
    """How often an operator was called while it was overridden."""

    replaced: int  # carried out by ingot
    passed: int  # handed on to torch


def enable_overrides(**groups: Mode) -> None:
    """Let ingot carry out torch's operators on CPU tensors, by groups.

    Each group is True (where ingot was measured to be faster: by operator, type and size),
    "always" (whatever ingot can do) or False (left to torch). What ingot does not take, such as
    double, complex numbers, other layouts or subclasses of Tensor, goes to torch's own kernel.

    A second call replaces the configuration of the first. The dispatcher is one for the whole
    process: call this, and disable_overrides(), while no other thread runs torch operators.
    """
    for group, mode in groups.items():
        if group not in GROUPS:
            raise TypeError(f"enable_overrides() got an unexpected keyword argument {group!r}; the groups are "
                            f"{', '.join(sorted(GROUPS))}")
        if not (isinstance(mode, bool) or mode == "always"):
            raise ValueError(f"enable_overrides({group}={mode!r}): expected True, False or 'always'.")
    _configure({**dict.fromkeys(GROUPS, True), **groups})


# help() shows the groups, which the descriptions declare.
enable_overrides.__signature__ = inspect.Signature(
    [inspect.Parameter(group, inspect.Parameter.KEYWORD_ONLY, default=True, annotation=Mode)
     for group in sorted(GROUPS)],
    return_annotation=None,
)


def disable_overrides() -> None:
    """Put all of torch's operators back."""
    _configure(dict.fromkeys(GROUPS, False))


@contextlib.contextmanager
def overrides(**groups: Mode) -> Iterator[None]:
    """enable_overrides() for a `with` block; what was configured before comes back after it."""
    with _lock:
        before = dict(_modes)
    enable_overrides(**groups)
    try:
        yield
    finally:
        _configure(before)


def _configure(modes: dict[str, Mode]) -> None:
    """Installs and removes what the new modes need; on an error the old ones stay."""
    with _lock:
        before = dict(_modes)
        try:
            _install(modes)
        except BaseException:
            _install(before)
            raise
        _modes.update(modes)


def _install(modes: dict[str, Mode]) -> None:
    always = [name for group, names in GROUPS.items() if modes[group] == "always" for name in names]
    in_c = set(_C.override_names())
    from_python = [name for r in REPLACEMENTS.values() if r.name not in in_c for name in r.limits_in_c]
    limits.set_always(frozenset(always), frozenset(from_python))
    for replacement in REPLACEMENTS.values():
        wanted = bool(modes[replacement.group]) and replacement.available()
        if wanted and not replacement.installed:
            replacement.install()
        elif not wanted and replacement.installed:
            replacement.remove()


def override_counts() -> dict[str, OverrideCount]:
    """By operator, how many calls ingot carried out and how many it handed on to torch."""
    counts = {r.name: OverrideCount(*r.counts()) for r in REPLACEMENTS.values()}
    return {name: count for name, count in counts.items() if any(count)}


def reset_override_counts() -> None:
    """Start counting anew."""
    for replacement in REPLACEMENTS.values():
        replacement.reset_counts()


def override_report() -> str:
    """The state of all overrides and their counts, as a table."""
    lines = [f"{'operator':<60}{'group':<15}{'state':<13}{'replaced':>10}{'passed on':>11}"]
    for r in sorted(REPLACEMENTS.values(), key=lambda r: r.group):
        replaced, passed = r.counts()
        lines.append(f"{r.name:<60}{r.group:<15}{_state(r):<13}{replaced:>10}{passed:>11}")
    return "\n".join(lines)


def _state(replacement: Replacement) -> str:
    if not replacement.available():
        return "not in torch"
    if not replacement.installed:
        return "off"
    mode: Any = _modes[replacement.group]
    return "always" if mode == "always" else "if faster"
