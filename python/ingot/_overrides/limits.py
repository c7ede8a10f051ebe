"""What a call must be like to go to ingot: plain tensors, and sizes at which that was measured to be faster."""

from __future__ import annotations

from typing import Any, Sequence

import torch

from ingot import _C
from ingot._overrides.measured import ANY, LARGEST_MEASURED, MEASURED

__all__ = ["FLOATS", "affine", "always", "fits", "gradient_fits", "is_last", "limits", "plain", "set_always", "within"]

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
FLOATS = (F32, F16, BF16)
Span = tuple[int, int]

_LEAST_FROM_PYTHON = 1 << 14  # elements: a call from Python costs some 10 µs more than what was measured in C

GROUPS: dict[str, list[str]] = {}  # by group of overrides, the limits that it goes by
_float32_only: set[str] = set()
_always: frozenset[str] = frozenset()
_spans: dict[str, dict[torch.dtype, Span]] = dict(MEASURED)


def _everything(name: str) -> dict[torch.dtype, Span]:
    """The spans of an operation that takes every input it can."""
    return dict.fromkeys((F32,) if name in _float32_only else FLOATS, (1, ANY))


def limits(group: str, *names: str, float32_only: bool = False) -> None:
    """Declares the names under which an operation's limits are measured (measured.py has the figures).

    float32_only: torch has no half types there, so there is nothing to replace. Read by the build, so literals.
    """
    GROUPS.setdefault(group, []).extend(names)
    if float32_only:
        _float32_only.update(names)


def set_always(names: frozenset[str], from_python: frozenset[str]) -> None:
    """The operations that take every input they can, whether that is faster or not; and those that this torch cannot
    hand to C, though they were measured there."""
    global _always
    _always = names
    _spans.clear()
    _spans.update(MEASURED)
    for name in from_python:
        spans = MEASURED.get(name, {})
        _spans[name] = {dtype: (max(least, _LEAST_FROM_PYTHON), most) for dtype, (least, most) in spans.items()}
    _spans.update({name: _everything(name) for name in names})
    _C.override_limits({name: _in_a_row(spans) for name, spans in _spans.items()})


def _in_a_row(spans: dict[torch.dtype, Span]) -> tuple[int, ...]:
    """The least and most elements of each type, as the extension takes them; nothing lies between 1 and 0."""
    return tuple(number for dtype in FLOATS for number in spans.get(dtype, (1, 0)))


def plain(*tensors: Any) -> bool:
    """Whether all (None is let through) are ordinary tensors on the CPU, not a subclass with ways of its own."""
    for x in tensors:
        if x is not None and ((type(x) is not torch.Tensor and type(x) is not torch.nn.Parameter) or not x.is_cpu):
            return False
    return True


def within(name: str, dtype: torch.dtype, elements: int, extent: int = 0, force: bool = False) -> bool:
    """Whether an operation takes this much of this type, in matrices of at most `extent`."""
    span = (_everything(name) if force else _spans.get(name, {})).get(dtype)
    if span is None or not span[0] <= elements <= span[1]:
        return False
    return extent <= LARGEST_MEASURED.get(name, ANY) or force or always(name)


def always(name: str) -> bool:
    """Whether an operation takes every input it can."""
    return name in _always


def fits(name: str, x: Any, force: bool = False) -> bool:
    """within() for a single plain, contiguous tensor."""
    return within(name, x.dtype, x.numel(), force=force) and x.is_contiguous() and plain(x)


def gradient_fits(name: str, d_out: Any, x: Any) -> bool:
    """The same for a tensor and a gradient of its type and shape."""
    return (
        fits(name, x)
        and d_out.dtype == x.dtype
        and d_out.is_contiguous()
        and d_out.shape == x.shape
        and plain(d_out)
    )


def is_last(dim: int, x: Any) -> bool:
    """Whether a dimension is the last one."""
    return x.ndim > 0 and dim in (-1, x.ndim - 1)


def affine(x: Any, shape: Sequence[int], *parameters: Any) -> bool:
    """Whether a norm is over the last dimension, with parameters of the input's type."""
    if x.ndim == 0 or len(shape) != 1 or shape[0] != x.shape[-1]:
        return False
    for p in parameters:
        if p is not None and (p.dtype != x.dtype or p.ndim != 1 or p.shape[0] != shape[0] or not p.is_contiguous()):
            return False
    return plain(*parameters)
