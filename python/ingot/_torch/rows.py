"""What gradients and modules over rows share."""
from __future__ import annotations

from torch import Tensor


def sum_rows(tensor: Tensor) -> Tensor:
    """The sum over all dimensions but the last, in the tensor's type."""
    return tensor if tensor.dim() == 1 else tensor.sum(list(range(tensor.dim() - 1)))


def as_rows(x: Tensor, shape: tuple[int, ...]) -> Tensor:
    """x with the normalised dimensions joined into one."""
    if tuple(x.shape[-len(shape):]) != tuple(shape):
        raise RuntimeError(f"the norm is over {list(shape)}, but the input has shape {list(x.shape)}")
    return x if len(shape) == 1 else x.flatten(-len(shape))
