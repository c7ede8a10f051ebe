"""compile_shader on a Mac with the mps device: every call goes to torch.mps.compile_shader.

What ingot adds to torch's call (function constants, threadgroup memory, wait=False) is not there; asking for it
says so.
"""
from __future__ import annotations

from typing import Any

_TORCH_OPTIONS = ("threads", "group_size", "arg_casts", "error_buf_idx")


class MacKernel:
    """A kernel of torch.mps.compile_shader that takes ingot's keywords where they mean nothing there."""

    def __init__(self, kernel: Any, name: str) -> None:
        self._kernel = kernel
        self.name = name

    def __call__(self, *args: Any, **options: Any) -> None:
        wait = options.pop("wait", True)
        contiguous = options.pop("contiguous", "ignore")
        for option in options:
            if option not in _TORCH_OPTIONS:
                raise TypeError(f'kernel "{self.name}": torch.mps has no keyword {option!r}; ingot has it on Linux')
        if contiguous != "ignore" and any(_is_strided(value) for value in args):
            raise RuntimeError(f'kernel "{self.name}": an argument is not contiguous')
        self._kernel(*args, **options)
        if wait and not any(_device_type(value) == "mps" for value in args):
            import torch

            torch.mps.synchronize()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._kernel, name)


class MacLibrary:
    """Compiles on the first use of a kernel, so that making one needs no device yet."""

    def __init__(self, source: str) -> None:
        import torch

        self.__dict__["_library"] = torch.mps.compile_shader(source)

    def __getattr__(self, name: str) -> MacKernel:
        if name.startswith("__"):
            raise AttributeError(name)
        return MacKernel(getattr(self._library, name), name)

    __getitem__ = __getattr__

    def __dir__(self) -> list[str]:
        return dir(self._library)


def _device_type(value: Any) -> str | None:
    return getattr(getattr(value, "device", None), "type", None)


def _is_strided(value: Any) -> bool:
    check = getattr(value, "is_contiguous", None)
    return callable(check) and not check()
