"""fill for PyTorch; see python/ingot/_torch/describe.py."""
from __future__ import annotations

from torch import Tensor

from ingot._torch.describe import operator

OPS = ("fill_",)


@operator
class Fill:
    schema = "fill_(Tensor(a!) out, float value) -> ()"


def fill_(out: Tensor, value: float) -> Tensor:
    """Sets every element of `out` (any shape, contiguous) to `value`, and returns it."""
    Fill(out, value)
    return out
