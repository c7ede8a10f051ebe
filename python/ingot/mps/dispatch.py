"""What happens when an operator meets an mps tensor: the CPU operator runs on the same memory.

One boxed fallback for the MPS dispatch key does nearly all of it. Its arguments become CPU tensors over the
same memory (nothing is copied), and what comes out becomes mps tensors again: the same object for an argument
written in place, a tensor of the same storage for a view, a new one otherwise. Kernels that somebody
registered for "MPS" go before it, as do PyTorch's composite operators.
"""
from __future__ import annotations

import functools
from typing import Any

import torch

from ingot.mps import generator, in_float, tensors
from ingot.mps.tensors import CPU, device_storage, device_tensor, host_storage, host_tensor, set_storage

_aten = torch.ops.aten
_keys = torch._C.DispatchKeySet
_CPU_KEYS = _keys(torch._C.DispatchKey.CPU)
_META_KEYS = _keys(torch._C.DispatchKey.Meta)

# Operators that take CPU tensors beside mps ones, by name: indices, lengths of sequences, copies.
_MIXED = {
    "aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_", "aten::_unsafe_index",
    "aten::_unsafe_index_put", "aten::_pack_padded_sequence", "aten::_pad_packed_sequence", "aten::lstm",
    "aten::gru", "aten::rnn_tanh", "aten::rnn_relu", "aten::_copy_from", "aten::_copy_from_and_resize",
    "aten::_foreach_copy_", "aten::embedding_renorm_", "aten::tensor_split", "aten::_fused_adam_",
    "aten::_fused_adamw_", "aten::_fused_sgd_",
}


class _Call:
    """The arguments of one call, turned to the CPU, and how to turn back what it answers."""

    __slots__ = ("name", "turned", "storages", "foreign")

    def __init__(self, name: str) -> None:
        self.name = name
        self.turned: list[tuple[torch.Tensor, torch.Tensor]] = []  # mps tensor, its CPU tensor
        self.storages: dict[int, torch.UntypedStorage] = {}  # CPU storage's address -> mps storage
        self.foreign: torch.Tensor | None = None  # a CPU tensor with dimensions

    def to_host(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            kind = value.device.type
            if kind == "mps":
                return self._tensor_to_host(value)
            if kind == "cpu" and value.dim() and self.foreign is None:
                self.foreign = value
            return value
        if isinstance(value, (list, tuple)):
            return type(value)(self.to_host(item) for item in value) if value else value
        if isinstance(value, torch.device):
            return CPU if value.type == "mps" else value
        if isinstance(value, torch.UntypedStorage) and value.device.type == "mps":
            return host_storage(value)
        return value

    def _tensor_to_host(self, value: torch.Tensor) -> torch.Tensor:
        for original, host in self.turned:
            if original is value:
                return host
        if value.layout is not torch.strided:
            raise NotImplementedError(
                f"{self.name}: ingot.mps has no tensors of layout {value.layout} on device mps"
            )
        storage = value.untyped_storage()
        host = host_tensor(value)
        self.turned.append((value, host))
        self.storages[host_storage(storage)._cdata] = storage
        return host

    def to_device(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            if value.device.type != "cpu":
                return value
            for original, host in self.turned:
                if host is value:
                    return original
            if value.layout is not torch.strided:
                raise NotImplementedError(
                    f"{self.name}: ingot.mps has no tensors of layout {value.layout} on device mps"
                )
            if value.dtype is torch.float64:  # nobody asked for it: the CPU's choice, where MPS takes float32
                value = value.to(torch.float32)
            return device_tensor(value, self.storages.get(value.untyped_storage()._cdata))
        if isinstance(value, (list, tuple)):
            return type(value)(self.to_device(item) for item in value)
        return value

    def follow_resizes(self) -> None:
        """Where the operator gave an argument another size or memory, the mps tensor follows."""
        for original, host in self.turned:
            storage = host.untyped_storage()
            same_memory = storage.data_ptr() == host_storage(original.untyped_storage()).data_ptr()
            if (
                same_memory
                and host.size() == original.size()
                and host.stride() == original.stride()
                and host.storage_offset() == original.storage_offset()
            ):
                continue
            known = self.storages.get(storage._cdata) if same_memory else None
            if known is None or known.nbytes() != storage.nbytes():
                known = device_storage(storage)
                self.storages[storage._cdata] = known
            set_storage(original, known, host.storage_offset(), host.size(), host.stride())

    def check_devices(self, operator: Any) -> None:
        if self.foreign is None or not self.turned or self.name in _MIXED:
            return
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu! "
            f"(when checking arguments of {operator}: one of shape {tuple(self.foreign.shape)} is on cpu)"
        )


_NUMBERS = (bool, int, float, complex)


def _dtype_of(number: Any) -> torch.dtype:
    if isinstance(number, complex):
        return torch.complex64
    if isinstance(number, float):
        return torch.get_default_dtype()
    return torch.bool if isinstance(number, bool) else torch.int64


@functools.lru_cache(maxsize=None)
def _number_places(operator: Any) -> tuple[int, ...]:
    """Tensor arguments for which PyTorch hands on a number as a number, though the call takes none."""
    schema = operator._schema
    if torch._C._should_allow_numbers_as_tensors(schema.name.split("::")[1]):
        return ()
    return tuple(
        place
        for place, argument in enumerate(schema.arguments)
        if isinstance(argument.type, torch._C.TensorType)
    )


def run_on_cpu(operator: Any, *args: Any, **kwargs: Any) -> Any:
    """Runs the CPU operator on the memory of its mps arguments."""
    schema = operator._schema
    call = _Call(schema.name)
    host_args = [call.to_host(value) for value in args]
    host_kwargs = {name: call.to_host(value) for name, value in kwargs.items()}
    for place in _number_places(operator):
        if place < len(host_args) and isinstance(host_args[place], _NUMBERS):
            number = host_args[place]
            host_args[place] = _aten.scalar_tensor.default(number, dtype=_dtype_of(number), device=CPU)
    if schema.name.startswith("aten::"):
        call.check_devices(operator)
    with generator.for_operator(operator, host_args, host_kwargs):
        try:
            result = operator(*host_args, **host_kwargs)
        except (NotImplementedError, RuntimeError) as error:
            if not in_float.is_missing(error):
                raise
            result = in_float.run(operator, host_args, host_kwargs)
    if schema.is_mutable:
        call.follow_resizes()
    tensors.check_dtype(host_kwargs.get("dtype"))
    return call.to_device(result)


def _empty(size, dtype=None, layout=None, device=None, pin_memory=None, memory_format=None):
    tensors.check_dtype(dtype or torch.get_default_dtype())
    host = _aten.empty.memory_format(size, dtype=dtype, device=CPU, memory_format=memory_format)
    return device_tensor(host)


def _empty_strided(size, stride, dtype=None, layout=None, device=None, pin_memory=None):
    tensors.check_dtype(dtype or torch.get_default_dtype())
    return device_tensor(_aten.empty_strided.default(size, stride, dtype=dtype, device=CPU))


def _copy_(self, source, non_blocking=False):
    target = host_tensor(self) if self.device.type == "mps" else self
    host = host_tensor(source) if source.device.type == "mps" else source
    _aten.copy_.default(target, host, non_blocking)
    return self


def _copy_from(self, target, non_blocking=False):
    return _copy_(target, self, non_blocking)


def _copy_from_and_resize(self, target):
    if target.size() != self.size():
        target.resize_(self.size())
    return _copy_(target, self)


def _resize_(self, size, *, memory_format=None):
    host = host_tensor(self)
    needed = _aten.empty.memory_format(size, dtype=self.dtype, device=CPU, memory_format=memory_format)
    if self.storage_offset() + needed.numel() > self.untyped_storage().nbytes() // self.element_size():
        # The memory moves: a new storage, with the old bytes at its beginning.
        old = host.untyped_storage()
        grown = torch.UntypedStorage(
            (self.storage_offset() + needed.numel()) * self.element_size(), device="cpu"
        )
        if old.nbytes():
            grown[: old.nbytes()].copy_(old)
        storage = device_storage(grown)
    else:
        storage = self.untyped_storage()
    return set_storage(self, storage, self.storage_offset(), needed.size(), needed.stride())


def _as_strided(self, size, stride, storage_offset=None):
    # The CPU kernel of torch 2.7 refuses mps tensors; Meta's does the same work.
    return _aten.as_strided.default.redispatch(_META_KEYS, self, size, stride, storage_offset)


def _with_cpu_kernel(operator):
    """For operators that touch only sizes and strides: the CPU kernel, on the mps tensor itself."""

    def call(*args, **kwargs):
        return operator.redispatch(_CPU_KEYS, *args, **kwargs)

    return call


def _set_tensor(self, source):
    storage = source.untyped_storage()
    return set_storage(self, storage, source.storage_offset(), source.size(), source.stride())


def _set_storage_whole(self, source):
    return set_storage(self, source, 0, [source.nbytes() // self.element_size()], [1])


def _set_empty(self):
    blank = device_tensor(_aten.empty.memory_format([0], dtype=self.dtype, device=CPU))
    return _set_tensor(self, blank)


def _is_pinned(self, device=None):
    return False


def _zeros(size, dtype=None, layout=None, device=None, pin_memory=None):
    tensors.check_dtype(dtype or torch.get_default_dtype())
    return device_tensor(_aten.zeros.default(size, dtype=dtype, device=CPU))


def _pin_memory(self, device=None):
    """CPU tensors: all host memory is as good as pinned for a device that uses it."""
    return _aten.clone.default(self)


_KERNELS = {
    "empty.memory_format": _empty,
    "empty_strided": _empty_strided,
    "copy_": _copy_,
    "_copy_from": _copy_from,
    "_copy_from_and_resize": _copy_from_and_resize,
    "resize_": _resize_,
    "as_strided": _as_strided,
    "view": _with_cpu_kernel(_aten.view.default),
    "_reshape_alias": _with_cpu_kernel(_aten._reshape_alias.default),
    "unfold": _with_cpu_kernel(_aten.unfold.default),
    "view_as_real": _with_cpu_kernel(_aten.view_as_real.default),
    "view_as_complex": _with_cpu_kernel(_aten.view_as_complex.default),
    "set_.source_Storage_storage_offset": _with_cpu_kernel(_aten.set_.source_Storage_storage_offset),
    "set_.source_Storage": _set_storage_whole,
    "set_.source_Tensor": _set_tensor,
    "set_": _set_empty,
    "is_pinned": _is_pinned,
    "_efficientzerotensor": _zeros,
}


# Composite operators that choose by device among kernels; the CPU's choice is taken instead.
_WHOLE = ("convolution", "convolution_backward", "_convolution")


@functools.lru_cache(maxsize=None)
def _structured_operators() -> list[Any]:
    """Operators that PyTorch would turn into an allocation and a call with out=: one call is enough."""
    has_kernel = torch._C._dispatch_has_kernel_for_dispatch_key
    found = []
    key = "CompositeExplicitAutogradNonFunctional"
    for name in torch._C._dispatch_get_registrations_for_dispatch_key(key):
        namespace, _, rest = name.partition("::")
        if namespace == "aten" and rest not in _KERNELS and has_kernel(name, "CPU"):
            packet, _, overload = rest.partition(".")
            found.append(getattr(getattr(_aten, packet), overload or "default"))
    return found


def _impl_name(operator: Any) -> str:
    name = operator._schema.name.split("::")[1]
    return name if operator._overloadname == "default" else f"{name}.{operator._overloadname}"


def register() -> list[torch.library.Library]:
    """Registers all of it. It is undone when the answer is destroyed (`_destroy` of each)."""
    everything = torch.library.Library("_", "IMPL", "MPS")
    everything.fallback(run_on_cpu, "MPS")
    aten = torch.library.Library("aten", "IMPL", "MPS")
    for name, kernel in _KERNELS.items():
        aten.impl(name, kernel, "MPS")
    for operator in [*(getattr(_aten, name).default for name in _WHOLE), *_structured_operators()]:
        aten.impl(_impl_name(operator), functools.partial(run_on_cpu, operator), "MPS")
    host = torch.library.Library("aten", "IMPL", "CPU")
    host.impl("_pin_memory", _pin_memory, "CPU")
    return [everything, aten, host]
