"""Storages on device mps: made by size, moved, saved and loaded."""
from __future__ import annotations

from typing import Any, Callable

import torch
from torch import serialization

from ingot.mps.tensors import device_storage, host_storage

_native_new = torch.UntypedStorage.__new__


def _new(cls: type, *args: Any, **kwargs: Any) -> Any:
    device = kwargs.get("device")
    if device is None or torch.device(device).type != "mps":
        return _native_new(cls, *args, **kwargs)
    kwargs["device"] = "cpu"
    return device_storage(_native_new(torch.UntypedStorage, *args, **kwargs))


def _on_host(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    return host_storage(storage) if storage.device.type == "mps" else storage


def _for_mps(method: Callable) -> Callable:
    """`method` of storages, on the host memory where a storage is on mps."""

    def call(self, *args: Any, **kwargs: Any) -> Any:
        storages = [item for item in (self, *args) if isinstance(item, torch.UntypedStorage)]
        if all(storage.device.type != "mps" for storage in storages):
            return method(self, *args, **kwargs)
        host_args = [_on_host(item) if isinstance(item, torch.UntypedStorage) else item for item in args]
        result = method(_on_host(self), *host_args, **kwargs)
        return self if isinstance(result, torch.UntypedStorage) and result is _on_host(self) else result

    return call


def _to_mps(self: torch.UntypedStorage) -> torch.UntypedStorage:
    return self if self.device.type == "mps" else device_storage(self.clone())


def _clone(self: torch.UntypedStorage) -> torch.UntypedStorage:
    return device_storage(host_storage(self).clone()) if self.device.type == "mps" else _native_clone(self)


def _cpu(self: torch.UntypedStorage) -> torch.UntypedStorage:
    return host_storage(self).clone() if self.device.type == "mps" else _native_cpu(self)


_native_clone = torch.UntypedStorage.clone
_native_cpu = torch.UntypedStorage.cpu


def _tag(storage: Any) -> str | None:
    return "mps" if storage.device.type == "mps" else None


def _deserialize(storage: Any, location: str) -> Any:
    return _to_mps(storage) if location.startswith("mps") else None


def install(replace: Callable[[Any, str, Any], None]) -> None:
    """Gives UntypedStorage methods that know mps; `replace` remembers the old ones."""
    kind = torch.UntypedStorage
    replace(kind, "__new__", staticmethod(_new))
    replace(kind, "mps", _to_mps)
    replace(kind, "clone", _clone)
    replace(kind, "cpu", _cpu)
    for name in ("copy_", "__getitem__", "__setitem__", "tolist", "fill_", "_write_file", "_set_from_file"):
        replace(kind, name, _for_mps(getattr(kind, name)))
    serialization.register_package(5, _tag, _deserialize)


def uninstall() -> None:
    """Takes the loader of mps storages out of torch.load's list."""
    serialization._package_registry[:] = [
        entry for entry in serialization._package_registry if entry[1] is not _tag
    ]
