"""Tensors on device ``mps`` whose memory is ordinary host memory.

They are real tensors with the MPS dispatch key: PyTorch's own C++ (autograd, autocast, views, printing,
operators that somebody registered for "MPS") sees device ``mps:0`` and needs no help. Each has a storage of
device mps over the memory of a CPU storage, which is kept as long as the mps storage lives. The data pointer of
that storage is not the memory: as on a Mac, it is an MTLBuffer object (src/python/mps_buffers.c).
"""
from __future__ import annotations

import threading
from typing import Any

import torch
from torch.multiprocessing.reductions import StorageWeakRef

from ingot import _C

DEVICE = torch.device("mps", 0)
CPU = torch.device("cpu")
_aten = torch.ops.aten
_CPU_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)
_META_KEYS = torch._C.DispatchKeySet(torch._C.DispatchKey.Meta)

_ABSENT_DTYPES = {torch.float64: "float64", torch.complex128: "complex128"}
_REPLACEMENT = {torch.float64: "float32", torch.complex128: "complex64"}


class Memory:
    """The CPU storage below each mps storage, and how many bytes they hold.

    An entry stays until its mps storage is gone. That is seen by a weak reference, when so many storages or
    bytes were added that looking pays, or when somebody asks for the memory in use.
    """

    lock = threading.RLock()
    limit: int | None = None  # of torch.mps.set_per_process_memory_fraction
    _held = 0
    # by the mps storage's address: the CPU storage, its bytes, is it still there, its buffer
    _hosts: dict[int, tuple[torch.UntypedStorage, int, StorageWeakRef, int]] = {}
    _new_entries = 0
    _new_bytes = 0

    @classmethod
    def add(cls, storage: torch.UntypedStorage, host: torch.UntypedStorage, buffer: int) -> None:
        size = host.nbytes()
        with cls.lock:
            cls._new_entries += 1
            cls._new_bytes += size
            too_many = cls._new_entries > max(256, len(cls._hosts) // 2)
            if too_many or cls._new_bytes > max(1 << 24, cls._held // 4):
                cls.sweep()
            if cls.limit is not None and size and cls._held + size > cls.limit:
                cls.sweep()
                cls._check_limit(size)
            cls._hosts[storage._cdata] = (host, size, StorageWeakRef(storage), buffer)
            cls._held += size

    @classmethod
    def sweep(cls) -> None:
        """Lets go of the memory of mps storages that are gone."""
        with cls.lock:
            gone = [address for address, entry in cls._hosts.items() if entry[2].expired()]
            for address in gone:
                _, size, _, buffer = cls._hosts.pop(address)
                cls._held -= size
                _C.mps_buffer_release(buffer)
            cls._new_entries = cls._new_bytes = 0

    @classmethod
    def held(cls) -> int:
        """Bytes in use by mps tensors."""
        cls.sweep()
        return cls._held

    @classmethod
    def storages(cls) -> int:
        """How many mps storages there are."""
        cls.sweep()
        return len(cls._hosts)

    @classmethod
    def host(cls, storage: torch.UntypedStorage) -> torch.UntypedStorage | None:
        entry = cls._hosts.get(storage._cdata)
        return entry[0] if entry else None

    @classmethod
    def _check_limit(cls, size: int) -> None:
        if cls._held + size > cls.limit:
            raise RuntimeError(
                f"MPS backend out of memory (MPS allocated: {cls._held} bytes, max allowed: {cls.limit} "
                f"bytes). Tried to allocate {size} bytes. Use "
                "torch.mps.set_per_process_memory_fraction(0.0) to disable the upper limit."
            )


class _Prototype(torch.Tensor):
    """Only to make the first tensor with the MPS key: PyTorch allows any device for a wrapper subclass."""

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        raise RuntimeError(f"{function} on the prototype of mps tensors")


_prototypes: dict[torch.dtype, torch.Tensor] = {}


def _blank(dtype: torch.dtype) -> torch.Tensor:
    """A new mps tensor without elements."""
    prototype = _prototypes.get(dtype)
    if prototype is None:
        prototype = torch.Tensor._make_wrapper_subclass(_Prototype, (0,), dtype=dtype, device=DEVICE)
        _prototypes[dtype] = prototype
    return _aten.as_strided.default.redispatch(_META_KEYS, prototype, [0], [1], 0)


def check_dtype(dtype: torch.dtype) -> None:
    """Raises the TypeError that MPS raises for a type Metal has not."""
    if dtype in _ABSENT_DTYPES:
        raise TypeError(
            f"Cannot convert a MPS Tensor to {_ABSENT_DTYPES[dtype]} dtype as the MPS framework doesn't "
            f"support {_ABSENT_DTYPES[dtype]}. Please use {_REPLACEMENT[dtype]} instead."
        )


def device_storage(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """A storage of device mps over the memory of the CPU storage `storage`, which it keeps."""
    size = storage.nbytes()
    buffer = _C.mps_buffer_new(storage, storage.data_ptr(), size) if size else 0
    result = torch._C._construct_storage_from_data_pointer(buffer, DEVICE, size)
    Memory.add(result, storage, buffer)
    return result


def host_storage(storage: torch.UntypedStorage) -> torch.UntypedStorage:
    """The CPU storage below the mps storage `storage`, after all work that extensions gave to the stream."""
    _C.mps_settle()
    host = Memory.host(storage)
    if host is None:
        raise RuntimeError("an mps storage that ingot.mps did not make has no memory on this machine")
    return host


def set_storage(
    tensor: torch.Tensor, storage: torch.UntypedStorage, offset: int, size: Any, stride: Any
) -> torch.Tensor:
    """Lets the mps tensor `tensor` stand for these elements of the mps storage `storage`."""
    set_ = _aten.set_.source_Storage_storage_offset
    return set_.redispatch(_CPU_KEYS, tensor, storage, offset, size, stride)


def device_tensor(tensor: torch.Tensor, storage: torch.UntypedStorage | None = None) -> torch.Tensor:
    """The mps tensor over the memory of the CPU tensor `tensor`; `storage`: its mps storage, if any."""
    check_dtype(tensor.dtype)
    if storage is None:
        storage = device_storage(tensor.untyped_storage())
    result = _blank(tensor.dtype)
    set_storage(result, storage, tensor.storage_offset(), tensor.size(), tensor.stride())
    _copy_bits(tensor, result)
    return result


def host_tensor(tensor: torch.Tensor) -> torch.Tensor:
    """The CPU tensor over the memory of the mps tensor `tensor`."""
    storage = host_storage(tensor.untyped_storage())
    result = _aten.empty.memory_format([0], dtype=tensor.dtype, device=CPU)
    _aten.set_.source_Storage_storage_offset(
        result, storage, tensor.storage_offset(), tensor.size(), tensor.stride()
    )
    _copy_bits(tensor, result)
    return result


def _copy_bits(source: torch.Tensor, target: torch.Tensor) -> None:
    if source.is_conj():
        torch._C._set_conj(target, True)
    if source.is_neg():
        torch._C._set_neg(target, True)
