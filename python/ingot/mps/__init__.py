"""Device ``mps`` on a machine that has none.

    import ingot.mps
    ingot.mps.enable()                     # before the first backward pass of the process
    x = torch.arange(8., device="mps")     # host memory; every operator runs on the CPU
    lib = torch.mps.compile_shader(source) # ingot compiles and runs the kernel

`pytest --ingot-mps` does the same for a test suite. docs/guide/mps.md says what is and is not emulated.
"""
from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Any, Iterator

from ingot import _onednn

__all__ = ["disable", "emulate", "enable", "is_enabled"]

_lock = threading.RLock()
_state: Any = None


def is_enabled() -> bool:
    """Whether device mps is emulated now."""
    return _state is not None


def enable() -> None:
    """Makes device mps exist. On a machine that has it (a Mac), and when called again, it does nothing.

    RuntimeError: this PyTorch cannot be used so, or a backward pass ran before (PyTorch starts its threads,
    one per device, in the first one).
    """
    global _state
    _onednn.settle()
    try:
        import torch
    except ModuleNotFoundError as error:
        raise ImportError("ingot.mps needs PyTorch 2.7 or newer, which is not installed") from error
    with _lock:
        if _state is None and not torch.backends.mps.is_built():
            from ingot.mps import emulation

            _state = emulation.start()


def disable() -> None:
    """Undoes enable(): every name of torch is what it was, and device="mps" raises again.

    mps tensors that still exist can be read by nothing but .untyped_storage(); let go of them before.
    """
    global _state
    with _lock:
        if _state is not None:
            _state.stop()
            _state = None


@contextmanager
def emulate() -> Iterator[None]:
    """Device mps exists inside the with statement (and after it, if it existed before)."""
    before = is_enabled()
    enable()
    try:
        yield
    finally:
        if not before:
            disable()
