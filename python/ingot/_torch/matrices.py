"""What the operations of linear algebra share: batches of matrices, their checks, and parts of their gradients.

Gradients are compositions of differentiable operators, so they can be differentiated again. They take float32 and
float64; half types are computed in float32. Derivations: M. Giles, "An extended collection of matrix derivative results
for forward and reverse mode algorithmic differentiation" (2008); others are noted where they stand.
"""
from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ingot import _C
from ingot._overrides.limits import plain, within
from ingot._torch.describe import count_dimensions
from ingot._torch.registry import at_least_float32


def in_float32(*tensors: Tensor | None) -> list[Any]:
    """The tensors with half types as float32."""
    return [None if tensor is None else at_least_float32(tensor) for tensor in tensors]


def is_known(tensor: Tensor) -> bool:
    """Whether the values of an info or rank tensor can be looked at now: not while a graph is traced."""
    from torch._subclasses.fake_tensor import FakeTensor

    return not isinstance(tensor, FakeTensor) and tensor.device.type != "meta" and \
        type(tensor) in (Tensor, torch.nn.Parameter)


def batch_of(a: Tensor, dtype: torch.dtype = torch.int32) -> Tensor:
    """For fakes: a number for each matrix."""
    return a.new_empty(a.shape[:-2], dtype=dtype)


def gaps(values: Tensor) -> Tensor:
    """[i, j] = values[j] - values[i], and 1 on the diagonal."""
    differences = values.unsqueeze(-2) - values.unsqueeze(-1)
    return differences + torch.eye(values.shape[-1], dtype=values.dtype, device=values.device)


# ---- for the functions of ingot.ops ------------------------------------------------------------------------


def check_info(function: str, info: Tensor, meaning: str) -> None:
    """Raises torch.linalg.LinAlgError where a matrix of the batch failed; graphs are traced without the check."""
    if torch.compiler.is_compiling() or _C.torch_all_zero(info) or info.numel() == 0:
        return
    failed = torch.nonzero(info.reshape(-1))
    if failed.numel():
        number = int(failed[0])
        where = "" if info.dim() == 0 else f" (matrix {number} of {info.numel()})"
        raise torch.linalg.LinAlgError(f"{function}: {meaning.format(int(info.reshape(-1)[number]))}{where}")


def same_batch(function: str, a: Tensor, b: Tensor) -> tuple[Tensor, Tensor]:
    """Both with the broadcast batch dimensions."""
    rank_a, rank_b = count_dimensions(function, "a", a), count_dimensions(function, "b", b)
    if rank_a < 2 or rank_b < 2:
        raise ValueError(f"{function}: both operands need at least 2 dimensions, but they have {rank_a} and {rank_b}")
    if a.shape[:-2] == b.shape[:-2]:
        return a, b
    batch = torch.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return a.expand(*batch, *a.shape[-2:]), b.expand(*batch, *b.shape[-2:])


# ---- for overrides: torch returns matrices in column-major order --------------------------------------------


def matrices_fit(name: str, a: Any, square: bool = True) -> bool:
    """Whether an operation takes these matrices."""
    if a.ndim < 2 or not plain(a) or (square and a.shape[-1] != a.shape[-2]):
        return False
    return within(name, a.dtype, a.numel(), max(a.shape[-2:]))


def column_major(x: Any) -> Any:
    """The same values in torch's order."""
    return x.mT.contiguous().mT


def is_finite(a: Any) -> bool:
    """torch raises for NaN and infinity in some of these; what it says is left to it."""
    return bool(torch.isfinite(a.sum())) or bool(torch.isfinite(a).all())
