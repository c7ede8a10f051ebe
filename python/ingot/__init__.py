"""ingot: run Metal compute kernels anywhere.

    import ingot
    lib = ingot.compile_shader(source)
    lib.kernel(x, y, 3.0)

compile_shader needs no torch; what does is imported on first use.
"""
from __future__ import annotations

import sys
from importlib import import_module
from typing import Any

try:
    from ingot import _C
    from ingot._C import Argument, ArgumentError, Error, Kernel, ShaderLibrary

    __version__ = _C.version
except ImportError:  # a Mac needs only what forwards to torch.mps
    if sys.platform != "darwin":
        raise
    from importlib.metadata import PackageNotFoundError, version

    try:
        __version__ = version("ingot")
    except PackageNotFoundError:  # a checkout in PYTHONPATH
        __version__ = "unknown"

from ingot.shader import check_errors, compile_shader, load_metallib, synchronize

__all__ = [
    "Argument", "ArgumentError", "Error", "Kernel", "ShaderLibrary", "__version__",
    "cache", "check_errors", "compile_shader", "disable_overrides", "enable_overrides", "load_metallib", "metal_kernel",
    "mlx", "mps", "nn", "ops", "optim", "override_counts", "override_report",
    "overrides", "patch", "reset_override_counts", "sanitize", "synchronize", "unpatch",
]

# Imported on first use: the module, and the name in it (None: the module itself).
_LAZY = {
    "cache": ("ingot.cache", None),
    "disable_overrides": ("ingot._overrides.control", "disable_overrides"),
    "enable_overrides": ("ingot._overrides.control", "enable_overrides"),
    "metal_kernel": ("ingot.mlx", "metal_kernel"),
    "mlx": ("ingot.mlx", None),
    "mps": ("ingot.mps", None),
    "nn": ("ingot.nn", None),
    "ops": ("ingot.ops", None),
    "optim": ("ingot.optim", None),
    "override_counts": ("ingot._overrides.control", "override_counts"),
    "override_report": ("ingot._overrides.control", "override_report"),
    "overrides": ("ingot._overrides.control", "overrides"),
    "patch": ("ingot._patch", "patch"),
    "reset_override_counts": ("ingot._overrides.control", "reset_override_counts"),
    "sanitize": ("ingot.sanitizer", "sanitize"),
    "unpatch": ("ingot._patch", "unpatch"),
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module 'ingot' has no attribute {name!r}")
    module, attribute = _LAZY[name]
    try:
        loaded = import_module(module)
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise ImportError(f"ingot.{name} needs PyTorch 2.7 or newer, which is not installed") from error
    value = getattr(loaded, attribute) if attribute else loaded
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(_LAZY))
