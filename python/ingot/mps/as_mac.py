"""`python -m ingot.mps --mac FILE`: the file's own code is told that it runs on a Mac, and nobody else.

setup.py files leave their `.mm` extensions out where `sys.platform` is not `darwin`. setuptools and PyTorch, which ask
the same, have to know what runs them.
"""
from __future__ import annotations

import platform
import sys
import types
from typing import Any, Callable


def _is_asked_by_file() -> bool:
    return sys._getframe(2).f_globals.get("__name__") == "__main__"


class _System(types.ModuleType):
    """The module sys."""

    def __new__(cls, *args: Any) -> types.ModuleType:  # importlib makes modules by type(sys)(name)
        return types.ModuleType(*args)

    @property
    def platform(self) -> str:
        return "darwin" if _is_asked_by_file() else vars(self)["platform"]


def _answer(function: Callable[[], str], on_mac: str) -> Callable[[], str]:
    def call(*args: Any) -> str:
        return on_mac if _is_asked_by_file() else function(*args)

    return call


def pretend() -> None:
    """From here on, until the process ends."""
    sys.__class__ = _System
    platform.system = _answer(platform.system, "Darwin")  # type: ignore[assignment]
    platform.machine = _answer(platform.machine, "arm64")  # type: ignore[assignment]
