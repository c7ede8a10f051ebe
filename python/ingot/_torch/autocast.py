"""Autocast: products and attention in the lower precision, norms, losses and decompositions in float32.

An operator's description has one of lower(), float32() and widest() with the names of the arguments that are cast,
after what torch.autocast does with its own operators of the same kind. Integer tensors, masks and what an operator
takes in float32 (ALiBi slopes, quantisation scales) are not named, and stay as they are; float masks and tables in a
half type can follow the operands.
"""
from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from ingot._torch.registry import library, operator

DEVICE_TYPES = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "mps": "AutocastMPS"}
HALF_TYPES = (torch.float16, torch.bfloat16)
FLOAT_TYPES = (*HALF_TYPES, torch.float32)


class Autocast:
    """What autocast does with an operator: casts `arguments` to what `choose` says of the device type and the tensors,
    and of `followers` those of a half type with them."""

    def __init__(self, choose: Callable[[str, list[Tensor]], torch.dtype], arguments: tuple[str, ...],
                 followers: tuple[str, ...]) -> None:
        self.choose, self.arguments, self.followers = choose, arguments, followers


def lower(*arguments: str, followers: tuple[str, ...] = ()) -> Autocast:
    """The type that the user asked autocast for."""
    return Autocast(lower_type, arguments, followers)


def float32(*arguments: str, followers: tuple[str, ...] = ()) -> Autocast:
    """float32 always."""
    return Autocast(float32_type, arguments, followers)


def widest(*arguments: str) -> Autocast:
    """Arguments that must agree in type are brought to the widest one."""
    return Autocast(widest_type, arguments, ())


def register(name: str, rule: Autocast) -> None:
    """Registers an operator's rule for the device types that this PyTorch has autocast for."""
    for device_type, key in available():
        register_one(name, rule, device_type, key)


@functools.cache
def available() -> list[tuple[str, str]]:
    """Device types and their keys."""
    return [(device_type, key) for device_type, key in DEVICE_TYPES.items()
            if torch.amp.is_autocast_available(device_type) and hasattr(torch._C.DispatchKey, key)]


def lower_type(device_type: str, tensors: list[Tensor]) -> torch.dtype:
    """torch.autocast's dtype."""
    return torch.get_autocast_dtype(device_type)


def float32_type(device_type: str, tensors: list[Tensor]) -> torch.dtype:
    """float32 always."""
    return torch.float32


def widest_type(device_type: str, tensors: list[Tensor]) -> torch.dtype:
    """The type that holds all of the tensors."""
    dtype = tensors[0].dtype
    for tensor in tensors[1:]:
        dtype = torch.promote_types(dtype, tensor.dtype)
    return dtype


def register_one(name: str, rule: Autocast, device_type: str, key: str) -> None:
    """Casts the named arguments of one operator, then calls it with autocast out of the way."""
    target = operator(name)
    order = [argument.name for argument in target._schema.arguments]
    positions = [order.index(argument) for argument in rule.arguments]
    followers = [order.index(argument) for argument in rule.followers]
    excluded = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def castable(value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype in FLOAT_TYPES and value.device.type == device_type

    def cast_and_call(*values: Any) -> Any:
        cast = list(values)
        present = [index for index in positions if index < len(values) and castable(values[index])]
        if present:
            dtype = rule.choose(device_type, [values[index] for index in present])
            for index in present:
                cast[index] = values[index].to(dtype)
            for index in followers:
                if index < len(values) and castable(values[index]) and values[index].dtype in HALF_TYPES:
                    cast[index] = values[index].to(dtype)
        with torch._C._ExcludeDispatchKeyGuard(excluded):
            return target(*cast)

    library.impl(name, cast_and_call, key)
