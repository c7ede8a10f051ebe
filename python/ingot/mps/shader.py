"""torch.mps.compile_shader by ingot: kernels get the host memory of mps tensors."""
from __future__ import annotations

from typing import Any

import torch

from ingot.mps.tensors import host_tensor


def synchronize() -> None:
    """Waits for queued kernels; an error that one reported is raised here."""
    import ingot

    ingot.synchronize()


class MpsKernel:
    """A kernel of a library, called as kernels of torch.mps.compile_shader are."""

    __slots__ = ("_kernel", "_name")

    def __init__(self, kernel: Any, name: str) -> None:
        self._kernel = kernel
        self._name = name

    def __call__(self, *args: Any, **options: Any) -> None:
        host_args = [self._to_host(value, index) for index, value in enumerate(args)]
        self._kernel(*host_args, **options)

    def _to_host(self, value: Any, index: int) -> Any:
        if isinstance(value, torch.Tensor):
            if value.device.type == "mps":
                return host_tensor(value)
            if value.device.type == "cpu" and value.dim() == 0:
                return value
            raise RuntimeError(
                f"{self._name}: argument {index} is a tensor of shape {tuple(value.shape)} on device "
                f"{value.device}; kernels take tensors on mps, and CPU tensors only of no dimension"
            )
        if isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
            return [self._to_host(item, index) for item in value]
        return value

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)

    def __repr__(self) -> str:
        return f"<ingot.mps kernel {self._name}>"


class MpsLibrary:
    """What torch.mps.compile_shader answers: kernels as attributes."""

    def __init__(self, library: Any) -> None:
        self.__dict__["_library"] = library
        self.__dict__["_kernels"] = {}

    def __getattr__(self, name: str) -> MpsKernel:
        kernel = self._kernels.get(name)
        if kernel is None:
            kernel = MpsKernel(getattr(self._library, name), name)
            self._kernels[name] = kernel
        return kernel

    def __dir__(self) -> list[str]:
        return list(dir(self._library))


def compile_shader(source: str) -> MpsLibrary:
    """Compiles Metal source for mps tensors."""
    import ingot

    return MpsLibrary(ingot.compile_shader(source))


def load_metallib(source: Any) -> MpsLibrary:
    """Loads an archive that ingotc made, from bytes or a path.

    RuntimeError: the file is Apple's .metallib, which holds code for Apple's GPUs and no source.
    """
    import ingot

    if isinstance(source, bytes):
        start = source[:4]
    else:
        with open(source, "rb") as file:
            start = file.read(4)
    if start == b"MTLB":
        raise RuntimeError(
            "this is a library for Apple's GPUs (it starts with MTLB), which no other machine runs: compile the "
            "source with torch.mps.compile_shader, or ahead of time with ingotc"
        )
    return MpsLibrary(ingot.load_metallib(source))
