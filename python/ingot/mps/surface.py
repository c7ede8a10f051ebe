"""The functions of torch._C that torch.mps and torch.backends.mps call, for a machine without Metal.

torch's own Python code stays as it is: what it looks up in torch._C when it is called is put there. So a name
that a test imported before (`from torch.mps import synchronize`) works too.
"""
from __future__ import annotations

import itertools
import os
import platform
import time
import warnings
from typing import Any, Callable

import torch

from ingot.mps import generator, shader
from ingot.mps.tensors import Memory, host_storage


MACOS = (26, 0)  # the version of macOS that is claimed: the newest that torch asks about


def _is_macos_or_newer(major: int, minor: int = 0) -> bool:
    return MACOS >= (major, minor)


def _mac_ver(release: str = "", versioninfo: tuple = ("", "", ""), machine: str = "") -> tuple:
    """platform.mac_ver, by which suites decide what to skip."""
    return f"{MACOS[0]}.{MACOS[1]}", ("", "", ""), "arm64"


def _total_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def _recommended_max_memory() -> int:
    return _total_memory() * 3 // 4  # what Metal recommends on Apple's machines


def _set_memory_fraction(fraction: float) -> None:
    Memory.limit = int(fraction * _recommended_max_memory()) if fraction > 0 else None


class _Events:
    """Events by number. Work on host memory is done when a call returns: an event is a moment."""

    numbers = itertools.count(1)
    times: dict[int, float | None] = {}
    timed: set[int] = set()

    @classmethod
    def acquire(cls, enable_timing: bool) -> int:
        number = next(cls.numbers)
        cls.times[number] = None
        if enable_timing:
            cls.timed.add(number)
        return number

    @classmethod
    def release(cls, number: int) -> None:
        cls.times.pop(number, None)
        cls.timed.discard(number)

    @classmethod
    def record(cls, number: int) -> None:
        shader.synchronize()
        cls.times[number] = time.perf_counter()

    @classmethod
    def wait(cls, number: int) -> None:
        cls._known(number)

    @classmethod
    def query(cls, number: int) -> bool:
        cls._known(number)
        return True

    @classmethod
    def elapsed(cls, start: int, end: int) -> float:
        for number, name in ((start, "start"), (end, "end")):
            cls._known(number)
            if number not in cls.timed:
                raise RuntimeError(f"the {name} event {number} was not created with enable_timing=True")
            if cls.times[number] is None:
                raise RuntimeError(f"the {name} event {number} was not recorded before its time was asked")
        return (cls.times[end] - cls.times[start]) * 1e3

    @classmethod
    def _known(cls, number: int) -> None:
        if number not in cls.times:
            raise RuntimeError(f"there is no MPS event {number}")


def _profiler_start(mode: str, wait_until_completed: bool) -> None:
    warnings.warn("ingot.mps: no Instruments on this machine; the trace is not recorded", stacklevel=3)


def _host_alias_storage(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    return host_storage(storage)


def _capture(name: str | None = None) -> None:
    raise RuntimeError("Metal's GPU capture does not exist on this machine (ingot.mps)")


class Stream:
    """torch.mps.Stream: there is one stream, whose work is done when a call returns."""

    def __init__(self, stream_id: int = 0) -> None:
        self.stream_id = stream_id

    def synchronize(self) -> None:
        shader.synchronize()

    def query(self) -> bool:
        return True

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Stream) and other.stream_id == self.stream_id

    def __hash__(self) -> int:
        return hash(self.stream_id)

    def __repr__(self) -> str:
        return f"<torch.mps.Stream stream_id={self.stream_id}>"


def _cores() -> int:
    return os.cpu_count() or 1


FUNCTIONS: dict[str, Any] = {
    "_has_mps": True,
    "_mps_is_available": lambda: True,
    "_mps_is_in_bad_fork": lambda: False,
    "_mps_is_on_macos_or_newer": _is_macos_or_newer,
    "_mps_get_name": lambda: "ingot (host CPU)",
    "_mps_get_core_count": _cores,
    "_mps_get_default_generator": generator.default_generator,
    "_mps_deviceSynchronize": shader.synchronize,
    "_mps_emptyCache": lambda: None,
    # torch.accelerator's memory: there is no cache of freed memory, and no statistics of one
    "_accelerator_isAllocatorInitialized": lambda: False,
    "_accelerator_emptyCache": lambda: None,
    "_accelerator_emptyHostCache": lambda: None,
    "_mps_setMemoryFraction": _set_memory_fraction,
    "_mps_currentAllocatedMemory": Memory.held,
    "_mps_driverAllocatedMemory": Memory.held,
    "_mps_recommendedMaxMemory": _recommended_max_memory,
    "_mps_maxBufferLength": _recommended_max_memory,
    "_mps_acquireEvent": _Events.acquire,
    "_mps_releaseEvent": _Events.release,
    "_mps_recordEvent": _Events.record,
    "_mps_waitForEvent": _Events.wait,
    "_mps_synchronizeEvent": _Events.wait,
    "_mps_queryEvent": _Events.query,
    "_mps_elapsedTimeOfEvents": _Events.elapsed,
    "_mps_profilerStartTrace": _profiler_start,
    "_mps_profilerStopTrace": lambda: None,
    "_mps_isCaptureEnabled": lambda: False,
    "_mps_isCapturing": lambda: False,
    "_mps_startCapture": _capture,
    "_mps_stopCapture": _capture,
    "_mps_compileShader": shader.compile_shader,
    "_mps_loadMetalllib": shader.load_metallib,
    "_mps_loadMetallibFromPath": shader.load_metallib,
    "_mps_host_alias_storage": _host_alias_storage,
    "_MPSStreamBase": Stream,
    "_mps_getCurrentStream": Stream,
    "_mps_setStream": lambda *unused, **also_unused: None,
    "_mps_setCurrentStream": lambda *unused, **also_unused: None,
}


def install(replace: Callable[[Any, str, Any], None]) -> None:
    """Puts all of it in place; `replace` remembers what was there."""
    for name, value in FUNCTIONS.items():
        replace(torch._C, name, value)
    replace(platform, "mac_ver", _mac_ver)
    replace(torch, "Generator", generator.Generator)
    replace(torch.mps, "_is_in_bad_fork", FUNCTIONS["_mps_is_in_bad_fork"])  # bound at its import
    replace(torch.mps, "_default_mps_generator", None)
    if hasattr(torch.mps, "Stream"):
        replace(torch.mps, "Stream", Stream)
        replace(torch.mps.streams, "Stream", Stream)
