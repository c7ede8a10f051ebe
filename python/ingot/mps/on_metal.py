"""torch.ops.ingot on mps tensors as on a Mac: by ingot's device metal, in the command buffer of torch's stream.

Without this the emulated device runs the operators on the CPU at once, as it does with all others.
"""
from __future__ import annotations

import ctypes
import os

from ingot import _C, _torch
from ingot.mps import bridge, is_enabled


def use_metal() -> None:
    """From now on, in this process. Needs ingot.mps, ingot-c++, and INGOT_METAL_BRIDGE (device metal on Linux)."""
    if not is_enabled():
        raise RuntimeError("use_metal() is for the emulated device mps: call ingot.mps.enable() first")
    library = os.path.join(os.path.dirname(bridge.command()), bridge.LIBRARY)
    ctypes.PyDLL(library)  # it attaches itself to ingot._C, which takes Python's lock
    _torch.load()
    _C.torch_register_mps(library)
