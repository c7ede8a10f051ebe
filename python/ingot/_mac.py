"""compile_shader on a Mac with the real mps device: calls with mps tensors go to torch.mps.compile_shader.

Calls without run on ingot's CPU device where the extension is there, and else go to torch as well. What ingot adds
to torch's call (function constants, threadgroup memory) torch has not; asking for it with mps tensors says so.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

_TORCH_OPTIONS = ("threads", "group_size", "arg_casts", "error_buf_idx")


def _on_mps(value: Any) -> bool:
    if isinstance(value, (list, tuple)):
        return bool(value) and _on_mps(value[0])
    return getattr(getattr(value, "device", None), "type", None) == "mps"


def _is_strided(value: Any) -> bool:
    check = getattr(value, "is_contiguous", None)
    return callable(check) and not check()


class MacKernel:
    """A kernel of both libraries, of which the arguments choose one."""

    def __init__(self, name: str, local: Any, find: Callable[[str], Any]) -> None:
        self.name = name
        self._local = local
        self._find = find

    def __call__(self, *args: Any, **options: Any) -> None:
        if self._local is not None and not any(_on_mps(value) for value in args):
            self._local(*args, **options)
            return
        options.pop("wait", None)  # work on mps tensors is in order with whatever looks at them
        options.pop("time_limit", None)  # the system has its own
        if options.pop("contiguous", "ignore") != "ignore" and any(_is_strided(value) for value in args):
            raise RuntimeError(f'kernel "{self.name}": an argument is not contiguous')
        for option in options:
            if option not in _TORCH_OPTIONS:
                raise TypeError(f'kernel "{self.name}": torch.mps has no keyword {option!r}')
        self._find(self.name)(*args, **options)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._find(self.name) if self._local is None else self._local, name)


class MacLibrary:
    """The kernels of a source; torch compiles it on the first call with an mps tensor, or at once without _C."""

    def __init__(self, source: str, local: Any = None) -> None:
        self.__dict__.update(_source=source, _local=local, _compiled=None)
        if local is None:
            self._torch_library()

    def _torch_library(self) -> Any:
        if self._compiled is None:
            import torch

            self.__dict__["_compiled"] = torch.mps.compile_shader(self._source)
        return self._compiled

    def __getattr__(self, name: str) -> MacKernel:
        if name.startswith("__"):
            raise AttributeError(name)
        local = None if self._local is None else self._local[name]
        if local is None:
            getattr(self._torch_library(), name)  # a name that is none raises here
        return MacKernel(name, local, lambda kernel: getattr(self._torch_library(), kernel))

    def __getitem__(self, name: str) -> MacKernel:
        return self.__getattr__(name)

    def __dir__(self) -> list[str]:
        return dir(self._torch_library() if self._local is None else self._local)
