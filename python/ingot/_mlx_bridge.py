"""MLX's own arrays and its module, where MLX is installed: its Linux packages run on the CPU, and have no Metal.

`enable()` makes mx.fast.metal_kernel run through ingot, so that programs and tests that were
written for a Mac run their kernels here. Nothing imports MLX that the program has not imported.
"""

from __future__ import annotations

import sys
from typing import Any

import numpy as np

__all__ = ["disable", "enable"]

_originals: list[tuple[Any, str, Any]] = []


def core() -> Any:
    """mlx.core if the program has imported it."""
    return sys.modules.get("mlx.core")


def is_array(value: Any) -> bool:
    """Whether this is one of MLX's arrays."""
    mx = core()
    return mx is not None and isinstance(value, mx.array)


def to_numpy(array: Any) -> tuple[np.ndarray, str]:
    """The memory of an MLX array without a copy, and its dtype's name; bfloat16 as its bits."""
    mx = core()
    name = str(array.dtype).rpartition(".")[2]
    if name == "bfloat16":
        return np.asarray(array.view(mx.uint16)), name
    return np.asarray(array), "bool" if name == "bool_" else name


def from_numpy(array: np.ndarray, dtype: str) -> Any:
    """An MLX array with these values; of bfloat16, with these bits."""
    mx = core()
    made = mx.array(array)
    return made.view(mx.bfloat16) if dtype == "bfloat16" else made


def _device_changes(mx: Any) -> list[tuple[Any, str, Any]]:
    """MLX's functions of devices, with its CPU as what a program takes for the GPU."""
    shown = mx.Device(mx.gpu)

    def default_device() -> Any:
        return shown

    def set_default_device(device: Any) -> None:
        nonlocal shown
        shown = device if isinstance(device, mx.Device) else mx.Device(device)

    def on_cpu(original: Any) -> Any:
        def call(*args: Any, **named: Any) -> Any:
            return original(*map(cpu_for, args), **{name: cpu_for(value) for name, value in named.items()})

        return call

    def cpu_for(value: Any) -> Any:
        return mx.cpu if isinstance(value, (mx.Device, mx.DeviceType)) and value == mx.gpu else value

    names = ["default_stream", "device_count", "device_info", "is_available", "new_stream", "new_thread_local_stream"]
    names += ["stream", "synchronize"]
    changes = [(mx, "default_device", default_device), (mx, "set_default_device", set_default_device)]
    return changes + [(mx, name, on_cpu(getattr(mx, name))) for name in names if hasattr(mx, name)]


def enable(default_device: bool = False) -> None:
    """Let MLX's mx.fast.metal_kernel run through ingot; mx.metal.is_available() then says True.

    default_device: let mx.default_device() say mx.gpu too, for programs that ask that, and let the
    functions that take a device or a stream's device take mx.gpu for the CPU. MLX's own operations
    do not ask it, and refuse `stream=mx.gpu`.

    Call it before the modules that make kernels are imported: many look once, at import. Only
    kernels that a program defines itself run through ingot; MLX's own operations stay on its CPU.
    A kernel is run when it is called, so mx.compile is switched off meanwhile, and mx.vmap over
    a kernel raises.
    """
    import mlx.core as mx

    from ingot.mlx import metal_kernel

    if _originals:
        return
    changes = [(mx.fast, "metal_kernel", metal_kernel), (mx.metal, "is_available", lambda: True)]
    if default_device:
        changes += _device_changes(mx)
    for owner, name, value in changes:
        _originals.append((owner, name, getattr(owner, name)))
        setattr(owner, name, value)
    mx.disable_compile()


def disable() -> None:
    """Undo enable()."""
    if not _originals:
        return
    core().enable_compile()
    while _originals:
        setattr(*_originals.pop())
