"""compile_shader and load_metallib: Metal kernels on CPU and CUDA tensors and on arrays.

The call model is that of torch.mps.compile_shader; see compile_shader for what is stricter here and what is
added. On a Mac, calls with mps tensors go to torch.mps.compile_shader itself, so that one test file serves both
machines.
"""
from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping, Sequence
from importlib.util import find_spec

try:
    from ingot import _C
except ImportError:  # on a Mac there is torch.mps
    if sys.platform != "darwin":
        raise
    _C = None

__all__ = ["check_errors", "compile_shader", "load_metallib", "synchronize"]

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


def _torch_include_dir() -> str | None:
    """The folder of torch's headers, found without importing torch."""
    torch = sys.modules.get("torch")
    origin = getattr(torch, "__file__", None)
    if not origin:
        try:
            spec = find_spec("torch")
        except (ImportError, ValueError):
            spec = None
        origin = spec.origin if spec else None
    folder = os.path.join(os.path.dirname(origin), "include") if origin else None
    return folder if folder and os.path.isdir(folder) else None


def _include_dirs(source: str, include_dirs: Sequence[str | os.PathLike[str]]) -> list[str]:
    """The user's folders, and torch's where the source includes one of its headers."""
    if isinstance(include_dirs, (str, os.PathLike)):
        include_dirs = [include_dirs]
    folders = [os.fspath(folder) for folder in include_dirs]
    if "#" in source and any(not name.startswith("metal_") for name in _INCLUDE.findall(source)):
        torch_folder = _torch_include_dir()
        if torch_folder:
            folders.append(torch_folder)
    return folders


def _define_pairs(defines: Mapping[str, object] | Sequence[str] | None) -> list[str]:
    """Names and values, alternating."""
    if not defines:
        return []
    if isinstance(defines, str):
        raise TypeError("defines has to be a dictionary or a list of names, not a string")
    items = defines.items() if isinstance(defines, Mapping) else ((name, None) for name in defines)
    pairs = []
    for name, value in items:
        if not isinstance(name, str):
            raise TypeError(f"defines: a name has to be a string, not {type(name).__name__}")
        if isinstance(value, bool):
            value = int(value)
        pairs += [name, "" if value is None else str(value)]
    return pairs


def _msl_number(version: int | str | None) -> int:
    """3.2, "3.2" and 320 are the same."""
    if version is None:
        return 0
    if isinstance(version, int) and not isinstance(version, bool):
        return version
    if isinstance(version, float):
        version = str(version)
    parts = version.split(".") if isinstance(version, str) else []
    if 1 <= len(parts) <= 2 and all(part.isdigit() for part in parts):
        return int(parts[0]) * 100 + (int(parts[1]) * 10 if len(parts) == 2 else 0)
    raise ValueError(f'msl_version has to be 320, "3.2" or the like, not {version!r}')


def _has_mps() -> bool:
    """True on a Mac whose torch has the real mps device."""
    if sys.platform != "darwin":
        return False
    try:
        import torch
    except ImportError:
        return False
    return torch.backends.mps.is_available()


def _mac_library(source: str, local: object):
    from ingot._mac import MacLibrary

    return MacLibrary(source, local)


def _is_mps(device: str) -> bool:
    if device not in ("cpu", "mps"):
        raise ValueError(f'device has to be "cpu" or "mps", not {device!r}')
    return device == "mps"


def compile_shader(
    source: str,
    *,
    fast_math: bool | None = None,
    msl_version: int | str | None = None,
    include_dirs: Sequence[str | os.PathLike[str]] = (),
    defines: Mapping[str, object] | Sequence[str] | None = None,
    name: str = "source.metal",
    strict: bool | None = None,
    contiguous: str = "ignore",
    use_cache: bool = True,
    device: str = "cpu",
    werror: bool = False,
):
    """Compiles Metal Shading Language and returns a ShaderLibrary whose attributes are the kernels.

        lib = ingot.compile_shader('''
        kernel void axpy(device float* y, device const float* x, constant float& a,
                         uint i [[thread_position_in_grid]]) { y[i] += a * x[i]; }''')
        lib.axpy(y, x, 2.0)

    A call takes its arguments in the order of the buffers: torch tensors, NumPy arrays and whatever has DLPack or
    the array interface, bound where they lie; numbers; lists of numbers; lists of tensors, as an argument buffer of
    their addresses; None for an argument that function constants leave out. `threads` is the grid in threads, the
    elements of the first tensor if omitted; `group_size` has as many dimensions, and is (min(threads, limit),) or
    (limit, 1, 1) if omitted; `arg_casts` is one of fp16, bf16, int32, int16, int8, uint8, for all numbers or by
    index. All of this is as in torch. A call returns when the work is done, unless `wait=False`.

    Numbers: a float is passed as float and an int as long, as torch does. They are checked against what the kernel
    declares: one int for `constant int&` or any other integer is narrowed if it fits (a Mac reads the low bytes of
    the long: the same number) and raises if not; an int for a float, a float for an integer, several ints for
    narrower integers and 12 bytes for a uint3 raise ingot.Error with both sizes named. A 0-dim tensor is a number,
    unless the kernel may write to it: then it is bound like any other.

    Tensors: elements are not compared with the declared type, and strides are ignored (the kernel sees the
    memory from the first element on), as in torch. Refused are read-only arrays and numbers where the kernel may
    write, and expanded or reversed arrays, whose memory holds fewer elements than they have.

    CUDA tensors: the source is compiled for the GPU on the first call with one. Work is queued on torch's current
    stream and not waited for; all tensors of a call are on one device.

    Args:
        fast_math: approximate maths. None follows PYTORCH_MPS_FAST_MATH, as torch does: precise unless that is set.
        msl_version: 320 or "3.2".
        include_dirs: where `#include` looks. torch's own c10/metal headers are found without.
        defines: macros, {"TILE": 16}, or a list of names.
        name: what diagnostics call the source.
        strict: refuse also what a Mac would take by luck: an int that is not passed as a long, elements of another
            type than the kernel declares. None: as the environment's INGOT_STRICT says.
        contiguous: "ignore" the strides, "refuse" tensors that are not contiguous, or "copy" them (there and back).
        use_cache: keep compiled code between runs.
        device: "cpu", or "mps" for torch.mps.compile_shader under ingot.mps: CPU tensors with dimensions are refused.
        werror: warnings are errors, among them those of what Apple's compiler refuses and this one takes.

    Raises:
        SyntaxError: the source does not compile; the message holds the diagnostics.
        TypeError: the source is not a string.
    """
    if not isinstance(source, str):
        raise TypeError(f"source has to be a string of Metal code, not {type(source).__name__}")
    if _C is None:
        return _mac_library(source, None)
    if fast_math is None:
        fast_math = os.environ.get("PYTORCH_MPS_FAST_MATH", "0") not in ("", "0")
    if strict is None:
        strict = os.environ.get("INGOT_STRICT", "0") not in ("", "0")
    library = _C.compile(
        source,
        name=name,
        include_dirs=_include_dirs(source, include_dirs),
        defines=_define_pairs(defines),
        fast_math=fast_math,
        msl_version=_msl_number(msl_version),
        use_cache=use_cache,
        strict=strict,
        contiguous=contiguous,
        mps=_is_mps(device),
        werror=werror,
    )
    return _mac_library(source, library) if _has_mps() else library


def load_metallib(
    source: bytes | str | os.PathLike[str],
    *,
    strict: bool = False,
    contiguous: str = "ignore",
    device: str = "cpu",
):
    """A ShaderLibrary from an .ingot archive or a .metallib: its bytes, or the path of the file.

    Archives are made by `ingotc` or `ingot pack`, a .metallib by Apple's compiler. Files with such libraries inside,
    as the images of macOS are, will do. Kernels of a .metallib are compiled when they are first asked for.
    """
    options = {"strict": strict, "contiguous": contiguous, "mps": _is_mps(device)}
    if isinstance(source, (bytes, bytearray)):
        return _C.load(bytes(source), None, **options)
    if isinstance(source, (str, os.PathLike)):
        return _C.load(None, os.fspath(source), **options)
    raise TypeError(f"source has to be bytes or a path, not {type(source).__name__}")


def check_errors() -> None:
    """Raises what kernels reported through TORCH_REPORT_ERROR (error_buf_idx) since the last check.

    torch.AcceleratorError where torch has it, else RuntimeError; torch raises this at torch.mps.synchronize().
    """
    reports = _C.take_reports()
    if not reports:
        return
    lines = [f"{message} ({function} at {file}:{line})" for file, line, function, message in reports]
    torch = sys.modules.get("torch")
    raise getattr(torch, "AcceleratorError", RuntimeError)("\n".join(lines))


def synchronize() -> None:
    """Waits for the work that this thread queued (wait=False) and for what is queued on streams of GPUs, and
    raises its error if there was one.

    Errors that kernels reported through error_buf_idx are raised here too; see check_errors.
    """
    _C.synchronize()
    check_errors()
