"""What a call must be like to go to ingot: plain tensors, and sizes at which that was measured to be faster."""

from __future__ import annotations

from typing import Any

import torch

from ingot import _C
from ingot._overrides.measured import (
    ANY,
    LARGEST_LSTSQ,
    LARGEST_MEASURED,
    LEAST_RIGHT_SIDES,
    MEASURED,
    TALL,
)

__all__ = [
    "FLOATS",
    "LARGEST_LSTSQ",
    "LEAST_RIGHT_SIDES",
    "TALL",
    "always",
    "fits",
    "plain",
    "set_always",
    "within",
]

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
FLOATS = (F32, F16, BF16)
Span = tuple[int, int]

# torch has no half types here, so there is nothing to replace.
_FLOAT32_ONLY = frozenset(
    (
        "qr",
        "cholesky",
        "lu",
        "solve",
        "triangular_solve",
        "lstsq",
        "eigh",
        "eigvalsh",
        "svd",
        "svdvals",
        "adamw",
        "fused_adamw",
    )
)

# What some versions of torch cannot hand to C: from Python, a call costs some 10 µs more than was measured.
_FROM_PYTHON = {
    "aten::gelu": ("gelu", "gelu_tanh"),
    "aten::gelu_backward": ("gelu_backward", "gelu_tanh_backward"),
    "aten::layer_norm": ("layer_norm",),
    "aten::rms_norm": ("rms_norm",),
}
_LEAST_FROM_PYTHON = 1 << 14

_always: frozenset[str] = frozenset()
_spans: dict[str, dict[torch.dtype, Span]] = dict(MEASURED)


def _everything(name: str) -> dict[torch.dtype, Span]:
    """The spans of an operation that takes every input it can."""
    return dict.fromkeys((F32,) if name in _FLOAT32_ONLY else FLOATS, (1, ANY))


def set_always(names: frozenset[str]) -> None:
    """The operations that take every input they can, whether that is faster or not."""
    global _always
    _always = names
    _spans.clear()
    _spans.update(MEASURED)
    for operator in set(_FROM_PYTHON) - set(_C.override_names()):
        for name in _FROM_PYTHON[operator]:
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
