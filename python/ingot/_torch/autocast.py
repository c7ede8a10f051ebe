"""Autocast: products and attention in the lower precision, norms, losses and decompositions in float32.

The lists follow what torch.autocast does with its own operators of the same kind. Integer tensors, masks and what
an operator takes in float32 (ALiBi slopes, quantisation scales) stay as they are; float masks and rope tables in a
half type follow the operands. attention_paged runs in the type of its cache, which autocast must not change.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ingot._torch.registry import library, operator

LOWER = {"matmul": ("a", "b", "bias"), "attention": ("q", "k", "v"), "rope": ("x",),
         "quantised_matmul": ("x", "bias"), "quantised_matvec": ("x", "bias")}
FLOAT32 = {"rms_norm": ("x", "weight"), "add_rms_norm": ("x", "residual", "weight"),
           "layer_norm": ("x", "weight", "bias"), "softmax": ("x",), "log_softmax": ("x",),
           "cross_entropy": ("logits",), "qr": ("a",), "cholesky": ("a",), "lu": ("a",), "solve": ("a", "b"),
           "triangular_solve": ("a", "b"), "lstsq": ("a", "b"), "eigh": ("a",), "eigvalsh": ("a",), "svd": ("a",),
           "svdvals": ("a",)}
# Operands that must agree in type are brought to the widest one.
WIDEST = {"axpy": ("x", "y"), "silu_mul": ("gate", "up"), "gelu_mul": ("gate", "up"),
          "gelu_tanh_mul": ("gate", "up")}
DEVICE_TYPES = {"cpu": "AutocastCPU", "cuda": "AutocastCUDA", "mps": "AutocastMPS"}
FOLLOWERS = ("mask", "cos", "sin")  # in float32 or in the operands' type
HALF_TYPES = (torch.float16, torch.bfloat16)
FLOAT_TYPES = (*HALF_TYPES, torch.float32)


def register() -> None:
    """Registers the rules for the device types that this PyTorch has autocast for."""
    for device_type, key in DEVICE_TYPES.items():
        if not torch.amp.is_autocast_available(device_type) or not hasattr(torch._C.DispatchKey, key):
            continue
        for rules, choose in ((LOWER, lower_type), (FLOAT32, float32_type), (WIDEST, widest_type)):
            for name, arguments in rules.items():
                register_one(name, arguments, choose, device_type, key)


def lower_type(device_type: str, tensors: list[Tensor]) -> torch.dtype:
    """What the user asked autocast for."""
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


def register_one(name: str, arguments: tuple[str, ...], choose: Any, device_type: str, key: str) -> None:
    """Casts the named arguments of one operator, then calls it with autocast out of the way."""
    target = operator(name)
    order = [argument.name for argument in target._schema.arguments]
    positions = [order.index(argument) for argument in arguments]
    followers = [order.index(argument) for argument in FOLLOWERS if argument in order]
    excluded = torch._C.DispatchKeySet(getattr(torch._C.DispatchKey, key))

    def castable(value: Any) -> bool:
        return isinstance(value, Tensor) and value.dtype in FLOAT_TYPES and value.device.type == device_type

    def cast_and_call(*values: Any) -> Any:
        cast = list(values)
        present = [index for index in positions if index < len(values) and castable(values[index])]
        if present:
            dtype = choose(device_type, [values[index] for index in present])
            for index in present:
                cast[index] = values[index].to(dtype)
            for index in followers:
                if index < len(values) and castable(values[index]) and values[index].dtype in HALF_TYPES:
                    cast[index] = values[index].to(dtype)
        with torch._C._ExcludeDispatchKeyGuard(excluded):
            return target(*cast)

    library.impl(name, cast_and_call, key)
