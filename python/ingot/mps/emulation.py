"""Starts and stops the emulation: the guard, the dispatcher's registrations, the names in torch."""
from __future__ import annotations

import atexit
import gc
import os
import time
from typing import Any

import torch

from ingot import _C
from ingot.mps import composite, dispatch, extensions, storages, surface
from ingot.mps.tensors import Memory

_MISSING = object()


class Emulation:
    """All that start() changed, so that stop() can put it back."""

    def __init__(self) -> None:
        self._changed: list[tuple[Any, str, Any]] = []
        self._libraries: list[torch.library.Library] = []

    def replace(self, owner: Any, name: str, value: Any) -> None:
        """Gives owner.name another value until stop()."""
        self._changed.append((owner, name, vars(owner).get(name, _MISSING)))
        setattr(owner, name, value)

    def start(self) -> None:
        _C.mps_set_guard(True)
        _C.mps_set_accelerator(True, torch.backends.cuda.is_built())
        self._libraries = dispatch.register() + composite.register()
        surface.install(self.replace)
        storages.install(self.replace)
        extensions.install(self.replace)
        _forget_answers()
        _check_backward()

    def stop(self) -> None:
        storages.uninstall()
        extensions.uninstall()
        for library in reversed(self._libraries):
            library._destroy()
        self._libraries = []
        for owner, name, value in reversed(self._changed):
            if value is _MISSING:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
        self._changed = []
        _forget_answers()
        Memory.limit = None
        _C.mps_set_accelerator(False, torch.backends.cuda.is_built())
        gc.collect()
        if Memory.storages() == 0:  # else a backward pass over what is left would end the process
            _C.mps_set_guard(False)


def _forget_answers() -> None:
    """torch.backends.mps remembers what it was told about the machine."""
    for value in list(vars(torch.backends.mps).values()):
        if hasattr(value, "cache_clear"):
            value.cache_clear()


def _check_backward() -> None:
    """PyTorch's autograd starts a thread per device in its first backward pass, and never again."""
    probe = torch.ones(1, device="mps", requires_grad=True)
    try:
        (probe * 1).sum().backward()
    except RuntimeError as error:
        raise RuntimeError(
            "ingot.mps.enable() came after the first backward pass of this process: PyTorch has started its "
            "threads without one for mps. Call it before (pytest --ingot-mps does)."
        ) from error


def _autograd_threads() -> list[str]:
    """The states of PyTorch's threads for backward passes: S is asleep."""
    states = []
    for task in os.listdir("/proc/self/task"):
        try:
            with open(f"/proc/self/task/{task}/stat") as file:
                name, _, rest = file.read().partition("(")[2].rpartition(")")
        except OSError:  # it has just ended
            continue
        if name.startswith("pt_autograd"):
            states.append(rest.split()[0])
    return states


@atexit.register
def _settle_autograd() -> None:
    """Waits until these threads have let go of the last backward pass.

    Its mps tensors are freed by Python. A thread that asks for the interpreter when that is about to end is ended
    by it, and PyTorch's C++ ends the process then ("terminate called without an active exception").
    """
    quiet, limit = 0, time.monotonic() + 1
    while quiet < 2 and time.monotonic() < limit:
        time.sleep(0.0005)  # lets others have the interpreter
        try:
            asleep = all(state == "S" for state in _autograd_threads())
        except OSError:  # no /proc
            return
        quiet = quiet + 1 if asleep else 0


def start() -> Emulation:
    """Starts the emulation, wholly or not at all."""
    emulation = Emulation()
    try:
        emulation.start()
    except BaseException:
        emulation.stop()
        raise
    return emulation
