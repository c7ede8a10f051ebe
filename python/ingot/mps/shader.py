"""torch.mps.compile_shader by ingot: the memory of mps tensors is host memory, where its kernels run."""
from __future__ import annotations

from typing import Any

import torch


def synchronize() -> None:
    """Waits for queued kernels, and for what extensions gave to streams; an error of these is raised here."""
    import ingot
    from ingot import _C

    _C.mps_settle()
    ingot.synchronize()


class MpsKernel:
    """A kernel of a library, called as kernels of torch.mps.compile_shader are."""

    __slots__ = ("_kernel", "_name")

    def __init__(self, kernel: Any, name: str) -> None:
        self._kernel = kernel
        self._name = name

    def __call__(self, *args: Any, **options: Any) -> None:
        for index, value in enumerate(args):
            if isinstance(value, torch.Tensor):
                self._check(value, index)
            elif isinstance(value, (list, tuple)) and value and isinstance(value[0], torch.Tensor):
                for item in value:
                    self._check(item, index)
        self._kernel(*args, **options)

    def _check(self, tensor: torch.Tensor, index: int) -> None:
        if tensor.is_mps or (tensor.is_cpu and tensor.dim() == 0):
            return
        raise RuntimeError(
            f"{self._name}: argument {index} is a tensor of shape {tuple(tensor.shape)} on device "
            f"{tensor.device}; kernels take tensors on mps, and CPU tensors only of no dimension"
        )

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
    """Loads a .metallib of Apple's compiler, or an archive that ingotc made, from bytes or a path."""
    import ingot

    return MpsLibrary(ingot.load_metallib(source))
