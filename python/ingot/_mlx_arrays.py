"""The arrays of a `metal_kernel` call: inputs as a kernel gets them, outputs as it writes them.

Takes NumPy's, torch's and MLX's arrays and dtypes, and numbers. Memory is bound in place; copied
is what is not row-contiguous where the kernel asks for that.
"""

from __future__ import annotations

import operator
import sys
from math import prod
from typing import Any, NamedTuple

import numpy as np

from ingot import _mlx_bridge

__all__ = ["METAL_TYPES", "Input", "dtype_name", "make_input", "make_outputs", "maker_of"]

# Inputs with fewer elements than this are passed in the constant address space.
CONSTANT_BELOW = 8

METAL_TYPES = {
    "bool": "bool",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "uint16": "uint16_t",
    "uint32": "uint32_t",
    "uint64": "uint64_t",
    "float16": "float16_t",
    "bfloat16": "bfloat16_t",
    "float32": "float",
    "complex64": "complex64_t",
}
DTYPE_ALIASES = {"bool_": "bool", "half": "float16", "float": "float32", "int": "int32"}


class Input(NamedTuple):
    """An input as the kernel gets it."""

    array: Any  # what is bound: the array, or a flat view of the memory it spans
    dtype: str
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements

    @property
    def by(self) -> str:
        """How it is passed: "s" by reference, "c" a constant pointer, "" a device pointer."""
        if not self.shape:
            return "s"
        return "c" if prod(self.shape) < CONSTANT_BELOW else ""


def _torch() -> Any:
    """torch if the program has imported it: an array can only then be a tensor."""
    return sys.modules.get("torch")


def _is_tensor(value: Any) -> bool:
    torch = _torch()
    return torch is not None and isinstance(value, torch.Tensor)


_dtype_names: dict[Any, str] = {}


def dtype_name(dtype: Any) -> str:
    """The name of a NumPy, torch or MLX dtype, or of one given as a string."""
    try:
        return _dtype_names[dtype]
    except (KeyError, TypeError):
        pass
    if isinstance(dtype, str):
        name = dtype.rpartition(".")[2]
    elif type(dtype).__module__.partition(".")[0] in ("torch", "mlx"):
        name = str(dtype).rpartition(".")[2]
    else:
        try:
            name = np.dtype(dtype).name
        except TypeError:
            raise TypeError(f"[metal_kernel] {dtype!r} is not a dtype.") from None
    name = DTYPE_ALIASES.get(name, name)
    if name not in METAL_TYPES:
        known = ", ".join(METAL_TYPES)
        raise TypeError(f"[metal_kernel] Metal has no type for dtype {name!r}; it has {known}.")
    _dtype_names[dtype] = name
    return name


def _scalar(value: Any) -> np.ndarray:
    """A Python or NumPy number as MLX makes an array of it: float32, int32, bool."""
    if isinstance(value, np.generic):
        if value.dtype == np.float64:
            return np.array(value, np.float32)
        return np.array(value, np.complex64) if value.dtype == np.complex128 else np.array(value)
    if isinstance(value, bool):
        return np.array(value)
    if isinstance(value, int):
        if -(2**31) <= value < 2**31:
            return np.array(value, np.int32)
        if -(2**63) <= value < 2**63:
            return np.array(value, np.int64)
        raise ValueError(f"[metal_kernel] The input {value} does not fit in 64 bits.")
    return np.array(value, np.float32 if isinstance(value, float) else np.complex64)


def make_input(name: str, value: Any, row_contiguous: bool) -> Input:
    if _is_tensor(value):
        return _tensor_input(name, value, row_contiguous)
    dtype = None
    if _mlx_bridge.is_array(value):
        value, dtype = _mlx_bridge.to_numpy(value)
    elif isinstance(value, (bool, int, float, complex, np.generic)):
        value = _scalar(value)
    elif not isinstance(value, np.ndarray):
        if isinstance(value, (list, tuple, str, bytes)) or value is None:
            raise TypeError(
                f"[metal_kernel] The input `{name}` is a {type(value).__name__}; expected a NumPy array, "
                "a torch tensor or a number."
            )
        try:
            value = np.asarray(value) if hasattr(value, "__array__") else np.from_dlpack(value)
        except Exception as error:
            raise TypeError(
                f"[metal_kernel] The input `{name}` is a {type(value).__name__}, which is not an array: {error}"
            ) from None
    if value.dtype == np.float64:
        raise TypeError(
            f"[metal_kernel] The input `{name}` is float64, which Metal does not have; pass it as float32."
        )
    if not value.dtype.isnative:
        raise TypeError(
            f"[metal_kernel] The input `{name}` has the byte order of another machine ({value.dtype})."
        )
    dtype = dtype or dtype_name(value.dtype)
    item = value.itemsize
    if row_contiguous or any(step < 0 or step % item for step in value.strides):
        # A view that runs backwards has no memory after its first element to bind.
        value = value if value.ndim == 0 else np.ascontiguousarray(value)
    strides = tuple(step // item for step in value.strides)
    bound = value
    if not value.flags.c_contiguous and value.size:
        span = 1 + sum((extent - 1) * step for extent, step in zip(value.shape, strides))
        bound = np.lib.stride_tricks.as_strided(value, (span,), (item,), writeable=False)
    return Input(bound, dtype, value.shape, strides)


def _tensor_input(name: str, tensor: Any, row_contiguous: bool) -> Input:
    torch = _torch()
    if tensor.layout != torch.strided:
        raise TypeError(
            f"[metal_kernel] The input `{name}` is a tensor of layout {tensor.layout}; expected strided."
        )
    if tensor.device.type == "meta":
        raise TypeError(f"[metal_kernel] The input `{name}` is on the meta device and has no values.")
    if tensor.requires_grad:
        tensor = tensor.detach()
    if tensor.dtype == torch.float64 and tensor.ndim == 0:
        tensor = tensor.to(torch.float32)
    if tensor.is_conj() or tensor.is_neg():
        tensor = tensor.resolve_conj().resolve_neg()
    dtype = dtype_name(tensor.dtype)
    if row_contiguous:
        tensor = tensor.contiguous()
    bound = tensor
    if not row_contiguous and not tensor.is_contiguous() and tensor.numel():
        span = 1 + sum((extent - 1) * step for extent, step in zip(tensor.shape, tensor.stride()))
        bound = tensor.as_strided((span,), (1,))
    return Input(bound, dtype, tuple(tensor.shape), tuple(tensor.stride()))


def maker_of(inputs: Any, dtypes: Any) -> Any:
    """What makes the outputs: a tensor (of torch), "mlx" or "numpy"; the inputs decide, else the dtypes."""
    torch = _torch()
    for value in inputs:
        if _is_tensor(value):
            return value
    if any(map(_mlx_bridge.is_array, inputs)):
        return "mlx"
    if torch is not None and any(isinstance(dtype, torch.dtype) for dtype in dtypes):
        return torch.empty(0)
    if any(isinstance(value, np.ndarray) for value in inputs):
        return "numpy"
    return "mlx" if any(type(dtype).__module__.partition(".")[0] == "mlx" for dtype in dtypes) else "numpy"


def make_outputs(
    maker: Any, shapes: Any, dtypes: Any, names: tuple[str, ...], value: float | None
) -> list[Any]:
    """The arrays that the kernel writes; for MLX, NumPy's."""
    outputs = []
    for shape, dtype, name in zip(shapes, dtypes, names):
        try:
            extents = tuple(operator.index(extent) for extent in shape)
        except TypeError:
            raise TypeError(f"[metal_kernel] {shape!r} in `output_shapes` is not a shape.") from None
        if min(extents, default=0) < 0:
            raise ValueError(f"[metal_kernel] The shape {extents} in `output_shapes` has a negative extent.")
        if not isinstance(maker, str):
            kind = getattr(_torch(), name)
            out = (
                maker.new_empty(extents, dtype=kind)
                if value is None
                else maker.new_full(extents, value, dtype=kind)
            )
            outputs.append(out.detach())
        elif maker == "mlx" and name == "bfloat16":
            outputs.append(np.full(extents, _bfloat16_bits(value or 0.0), np.uint16))
        else:
            kind = _numpy_dtype(dtype, name)
            outputs.append(np.empty(extents, kind) if value is None else np.full(extents, value, kind))
    return outputs


def _bfloat16_bits(value: float) -> int:
    """A number as bfloat16, rounded to nearest even."""
    bits = int(np.float32(value).view(np.uint32))
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16 if value == value else 0x7FC0


def _numpy_dtype(dtype: Any, name: str) -> np.dtype:
    if name != "bfloat16":
        return np.dtype(name)
    try:
        return np.dtype(dtype)  # another package's bfloat16 for NumPy
    except TypeError:
        raise TypeError(
            "[metal_kernel] NumPy has no bfloat16: pass an input as a torch tensor, or the output's dtype as "
            "torch.bfloat16."
        ) from None
