"""Epilogues of products: what is computed of each element before it is rounded and stored."""
from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from ingot._torch.registry import operator

# ingot_epilogue of include/ingot/ops.h
EPILOGUES = {None: 0, "none": 0, "relu": 1, "silu": 2, "swish": 2, "gelu": 3, "gelu_tanh": 4}
RELU = EPILOGUES["relu"]
BACKWARDS = {EPILOGUES[name]: f"{name}_backward" for name in ("silu", "gelu", "gelu_tanh")}


def through_epilogue(epilogue: int, d_out: Tensor, out: Tensor, before: Callable[[], Tensor]) -> Tensor:
    """The gradient before the epilogue; `before()` computes the product again where it is needed."""
    if epilogue == 0:
        return d_out
    if epilogue == RELU:
        return torch.where(out > 0, d_out, 0)
    return operator(BACKWARDS[epilogue])(d_out, before())
