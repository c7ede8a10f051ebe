"""Arguments for every operator of torch.ops.ingot, as the tests of the operators use them.

SAMPLES maps a name to functions that make the operator's arguments in a given type; each call makes new tensors.
The first of each is that of operator_cases.py, which also has the expected results.
"""
from __future__ import annotations

from collections.abc import Callable

import torch

from operator_cases import CASES

Sample = Callable[[torch.dtype], tuple]


def normal(*shape: int, dtype: torch.dtype = torch.float32, seed: int = 0) -> torch.Tensor:
    """Normal random numbers that depend on shape and seed alone."""
    generator = torch.Generator().manual_seed(seed * 1009 + sum(shape) * 31 + len(shape))
    return torch.randn(shape, generator=generator).to(dtype)


def positive_definite(*shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Symmetric matrices with eigenvalues above 1."""
    half = normal(*shape)
    return (half @ half.mT / shape[-1] + 2 * torch.eye(shape[-1])).to(dtype)


def triangular(*shape: int, upper: bool = False, dtype: torch.dtype = torch.float32) -> torch.Tensor:
    """Well-conditioned triangular matrices."""
    full = 0.3 * normal(*shape) + 2 * torch.eye(shape[-1])
    return (full.triu() if upper else full.tril()).to(dtype)


def targets(rows: int, classes: int) -> torch.Tensor:
    """Class numbers, one of them the default to ignore."""
    values = torch.arange(rows) * 7 % classes
    if rows > 1:
        values[1] = -100
    return values


def attention_inputs(dtype: torch.dtype, heads: int = 4, kv_heads: int = 2, rows: int = 5,
                     columns: int = 7) -> tuple[torch.Tensor, ...]:
    """q, k and v with grouped heads."""
    return (normal(2, heads, rows, 8, dtype=dtype, seed=1), normal(2, kv_heads, columns, 8, dtype=dtype, seed=2),
            normal(2, kv_heads, columns, 8, dtype=dtype, seed=3))


def quantised(dtype: torch.dtype, biases: bool = True, bits: int = 4) -> tuple:
    """packed, scales, biases, bits and group of a 6 x 64 matrix."""
    packed, scales, offsets = torch.ops.ingot.quantise(normal(6, 64, dtype=dtype), bits, 32, biases)
    return packed, scales, offsets if biases else None, bits, 32


def paged(dtype: torch.dtype) -> tuple:
    """q, caches, block table and lengths."""
    return (normal(2, 4, 1, 8, dtype=dtype), normal(5, 2, 4, 8, dtype=dtype, seed=1),
            normal(5, 2, 4, 8, dtype=dtype, seed=2), torch.tensor([[0, 2], [1, 3]], dtype=torch.int32),
            torch.tensor([6, 3], dtype=torch.int32))


def bags(dtype: torch.dtype) -> tuple:
    """A table, indices and offsets; the second bag is empty."""
    return normal(10, 6, dtype=dtype), torch.tensor([1, 3, 3, 9, 0, 2]), torch.tensor([0, 2, 2, 5])


def bags_backward(dtype: torch.dtype, mode: int) -> tuple:
    """The arguments of embedding_bag_backward."""
    table, indices, offsets = bags(dtype)
    out, largest = torch.ops.ingot.embedding_bag(table, indices, offsets, None, mode)
    return normal(*out.shape, dtype=dtype, seed=4), table, indices, offsets, None, largest, mode


def adam(dtype: torch.dtype, amsgrad: bool = False, clipped: bool = False) -> tuple:
    """A step over three tensors."""
    shapes = [(3, 4), (5,), ()]
    params = [normal(*shape, dtype=dtype) for shape in shapes]
    grads = [normal(*shape, dtype=dtype, seed=1) for shape in shapes]
    states = [[torch.full(shape, 0.1 * (number + 1)) for shape in shapes] for number in range(3)]
    norm = torch.tensor(2.5) if clipped else None
    return (params, grads, states[0], states[1], states[2] if amsgrad else [], [], norm, 1e-2, 0.9, 0.99, 1e-8, 0.1,
            3, False, amsgrad, 1.0 if clipped else 0.0)


def _rows(*shape: int, seed: int = 0) -> Sample:
    return lambda d: (normal(*shape, dtype=d, seed=seed),)


def _pair(*shape: int) -> Sample:
    return lambda d: (normal(*shape, dtype=d), normal(*shape, dtype=d, seed=1))


# Beside the call of operator_cases.py: other options, layouts and sizes.
OTHER: dict[str, list[Sample]] = {
    "axpy": [_pair(0, 4)],
    "convert": [lambda d: (normal(3, 4, dtype=d), torch.bfloat16),
                lambda d: (normal(4, 3, dtype=d).t(), torch.float32)],
    "silu": [_rows(0), lambda d: (normal(4, 6, dtype=d).t(),)],
    "gelu": [_rows(0, 2)],
    "silu_mul": [lambda d: tuple(normal(3, 8, dtype=d).chunk(2, 1))],
    "rms_norm": [_rows(2, 3, 8), lambda d: (normal(0, 8, dtype=d), normal(8, dtype=d))],
    "rms_norm_backward": [_pair(3, 8)],
    "add_rms_norm": [_pair(3, 8)],
    "add_rms_norm_backward": [lambda d: (normal(3, 8, dtype=d), None, normal(3, 8, dtype=d, seed=2))],
    "layer_norm": [_rows(2, 3, 8)],
    "layer_norm_backward": [_pair(3, 8)],
    "softmax": [lambda d: (normal(2, 4, 6, dtype=d), normal(4, 6, dtype=d, seed=1), 0.5),
                lambda d: (normal(2, 4, 6, dtype=d), None, 0.5, True, 2)],
    "log_softmax": [_rows(0, 8)],
    "cross_entropy": [lambda d: (normal(4, 9, dtype=d), targets(4, 9)),
                      lambda d: (normal(4, 9, dtype=d), targets(4, 9), 2, 0.1),
                      lambda d: (normal(4, 9, dtype=d), torch.tensor([7, 1, 8, 0], dtype=torch.int32), 1, 0.1, 7)],
    "cross_entropy_backward": [lambda d: (torch.tensor(0.5), normal(4, 9, dtype=d), targets(4, 9)),
                               lambda d: (normal(4, seed=3), normal(4, 9, dtype=d), targets(4, 9), 2, 0.1)],
    "attention": [attention_inputs, lambda d: (*attention_inputs(d), None, None, 0.0, True),
                  lambda d: (*attention_inputs(d), normal(5, 7, dtype=d), torch.tensor([0.1, 0.2, 0.3, 0.4]), 0.3,
                             True, 3)],
    "cache_write_": [lambda d: (normal(3, 2, 8, dtype=d), normal(3, 2, 8, dtype=d, seed=1), torch.tensor([0, 5, -1]),
                                normal(2, 2, 4, 8, dtype=d), normal(2, 2, 4, 8, dtype=d, seed=2))],
    "rope": [lambda d: (normal(2, 3, 5, 8, dtype=d), torch.arange(5) * 3, None, None, 2, 4, True),
             lambda d: (normal(2, 3, 5, 8, dtype=d), None, normal(9, 4), normal(9, 4, seed=1))],
    "matmul": [lambda d: (normal(2, 3, 4, 5, dtype=d), normal(6, 5, dtype=d), normal(6, dtype=d), False, True, 2),
               lambda d: (normal(2, 5, 4, dtype=d), normal(2, 5, 6, dtype=d), None, True, False, 1)],
    "quantise": [lambda d: (normal(6, 64, dtype=d), 4, 32, True), lambda d: (normal(6, 128, dtype=d), 8, 64)],
    "dequantise": [lambda d: (*quantised(d), d), lambda d: (*quantised(d, False, 8), torch.float32)],
    "quantised_matvec": [lambda d: (normal(64, dtype=d), *quantised(d)),
                         lambda d: (normal(3, 64, dtype=d), *quantised(d, False), normal(6, dtype=d))],
    "quantised_matmul": [lambda d: (normal(2, 3, 64, dtype=d), *quantised(d)),
                         lambda d: (normal(12, 64, dtype=d), *quantised(d, False), normal(6, dtype=d), 3)],
    "embedding_bag": [bags, lambda d: (*bags(d), normal(6, dtype=d)), lambda d: (*bags(d), None, 2),
                      lambda d: (normal(10, 6, dtype=d), torch.tensor([[1, 2], [0, 1]]), None, None, 1, False, 1)],
    "embedding_bag_backward": [lambda d: bags_backward(d, 2)],
    "adamw_": [adam, lambda d: adam(d, amsgrad=True, clipped=True)],
    "adam_": [lambda d: adam(d, amsgrad=True)],
    "qr": [_rows(3, 5), lambda d: (normal(5, 3, dtype=d), True)],
    "cholesky": [lambda d: (positive_definite(4, 4, dtype=d), True)],
    "lu": [_rows(4, 6)],
    "triangular_solve": [lambda d: (triangular(5, 5, upper=True, dtype=d), normal(3, 5, dtype=d), True, True, False,
                                    True)],
    "lstsq": [lambda d: (normal(3, 5, dtype=d), normal(3, 2, dtype=d))],
    "eigh": [lambda d: (positive_definite(4, 4, dtype=d), True)],
    "svd": [_rows(3, 5)],
}


def _arguments_of(case: Callable) -> Sample:
    return lambda d: tuple(case(d)[0])


SAMPLES: dict[str, list[Sample]] = {name: [_arguments_of(case), *OTHER.get(name, [])] for name, case in CASES.items()}
