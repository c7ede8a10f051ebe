"""Operators that the CPU has not for float16, bfloat16 or complex32: computed in the wider type."""
from __future__ import annotations

from typing import Any

import torch

_WIDE = {torch.float16: torch.float32, torch.bfloat16: torch.float32, torch.complex32: torch.complex64}
_UNSUPPORTED = ("for 'Half'", "for 'BFloat16'", "for 'ComplexHalf'")


def is_missing(error: Exception) -> bool:
    """Whether the error says that the CPU has no kernel for a short type."""
    text = str(error)
    return "not implemented" in text and any(kind in text for kind in _UNSUPPORTED)


class _Widened:
    """Wider copies of a call's short tensors, and the way back."""

    def __init__(self) -> None:
        self.pairs: list[tuple[torch.Tensor, torch.Tensor]] = []  # short tensor, its copy

    def widen(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor) and value.dtype in _WIDE:
            copy = value.to(_WIDE[value.dtype])
            self.pairs.append((value, copy))
            return copy
        if isinstance(value, (list, tuple)):
            return type(value)(self.widen(item) for item in value)
        return _WIDE.get(value, value) if isinstance(value, torch.dtype) else value

    def narrow(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            for short, copy in self.pairs:
                if copy is value:
                    return short
            for short, copy in self.pairs:
                if copy.dtype is value.dtype:
                    return value.to(short.dtype)
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(self.narrow(item) for item in value)
        return value


def run(operator: Any, args: list, kwargs: dict) -> Any:
    """The operator on wider copies; what it writes and answers is rounded to the type of its arguments."""
    widened = _Widened()
    wide_args = [widened.widen(value) for value in args]
    wide_kwargs = {name: widened.widen(value) for name, value in kwargs.items()}
    result = operator(*wide_args, **wide_kwargs)
    if operator._schema.is_mutable:
        for short, copy in widened.pairs:
            if short.size() != copy.size():
                short.resize_(copy.size())
            short.copy_(copy)
    return widened.narrow(result)
