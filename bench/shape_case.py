"""What shapes() of kernels/NAME/NAME_bench.py is written with: an operation beside torch's, on any shape.

bench/shapes.py draws rows of these operations at random, bench/gpu_torch.py takes those that they show.
"""
from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves, tree_map

from shape_draws import Draw, Row, draw_matrices, draw_row_operation

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
Function = Callable[..., object]


def distance(result: torch.Tensor, reference: torch.Tensor) -> float:
    """The norm of the difference relative to the reference's."""
    result, reference = result.detach().float(), reference.detach().float()
    return float((result - reference).norm() / reference.norm())


def compare_results(result: object, reference: object, *inputs: object) -> float:
    """The largest distance among the results."""
    if isinstance(result, torch.Tensor):
        result, reference = (result,), (reference,)
    return max(distance(one, other) for one, other in zip(result, reference))


class FloatOperations(TorchDispatchMode):
    """Each operation of torch on 16 bits in float32, its results rounded.

    Some of torch's sum in 16 bits within: the gradients of layer_norm's weights on CPUs.
    """

    def __torch_dispatch__(self, operation, types, args=(), kwargs=None):  # noqa: ANN001, ANN204
        kwargs = kwargs or {}
        narrow = [value.dtype for value in tree_leaves((args, kwargs))
                  if isinstance(value, torch.Tensor) and value.dtype in (torch.float16, torch.bfloat16)]
        if not narrow or operation.is_view or operation._schema.is_mutable or "copy" in operation.name():
            return operation(*args, **kwargs)

        def widened(value: object) -> object:
            return value.float() if isinstance(value, torch.Tensor) and value.dtype == narrow[0] else value

        def rounded(value: object) -> object:
            return value.to(narrow[0]) if isinstance(value, torch.Tensor) and value.dtype == torch.float32 else value
        args, kwargs = tree_map(widened, (args, kwargs))
        return tree_map(rounded, operation(*args, **kwargs))


def product_error(product: Callable[[tuple], torch.Tensor]) -> Callable[..., float]:
    """Compares what a decomposition multiplies out to with the matrix."""
    return lambda result, _, a: distance(product(result), a)


def solution_error(result: torch.Tensor, _: object, a: torch.Tensor, b: torch.Tensor) -> float:
    """What is left of the equations, relative to the terms."""
    return float((a @ result - b).norm() / (a.norm() * result.norm()))


@dataclass
class Case:
    """A row that can run. `make` gives one set of inputs; torch's function and ingot's both take it."""
    op: str
    shape: str
    dtype: str
    make: Callable[[], tuple]
    torch: Function | None
    ingot: Function
    limit: float  # of what compare gives
    compiled: bool = False  # torch.compile may try
    bytes: float = 0
    flops: float = 0
    compare: Callable[..., float] = compare_results
    sets: int = 0  # of inputs; 0: as many as do not fit into the cache


class Maker:
    """Random tensors on one device."""

    def __init__(self, device: str):
        self.device = device

    def normal(self, *shape: int, dtype: str = "f32") -> torch.Tensor:
        return torch.randn(*shape, device=self.device, dtype=TYPES[dtype])

    def integers(self, limit: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.randint(0, limit, shape, device=self.device, dtype=dtype)

    def identity(self, n: int) -> torch.Tensor:
        return torch.eye(n, device=self.device)

    def laid_out(self, row: Row, *shape: int) -> torch.Tensor:
        """A random matrix in the layout of the row."""
        *outer, rows, columns = shape
        if "odd start" in row.options:
            return self.normal(math.prod(shape) + 1, dtype=row.dtype)[1:].view(shape)
        if "padded rows" in row.options:
            return self.normal(*outer, rows, columns + 3, dtype=row.dtype)[..., :columns]
        if "transposed" in row.options:
            return self.normal(*outer, columns, rows, dtype=row.dtype).mT
        return self.normal(*shape, dtype=row.dtype)


@dataclass(frozen=True)
class Shown:
    """A row of bench/gpu_torch.py, and sizes for a try of the program on a CPU."""
    row: Row
    small: tuple[int, ...]
    name: str = ""  # of the operation in the table, if not the row's
    shape: str = ""  # in the table, if not the row's sizes


def three_times_the_input(row: Row) -> tuple[float, float]:
    return 3 * math.prod(row.sizes) * TYPES[row.dtype].itemsize, 0


@dataclass(frozen=True)
class Shape:
    """An operation on any shape.

    kind: of KINDS in shape_cases.py. draw(draw, op): a Row. make(maker, row): what Case has of its own, as a dict.
    cost(row): bytes and flops, told before a tensor is made. weight: how often it is drawn among those of its kind.
    """
    kind: str
    draw: Callable[[Draw, str], Row] | None
    make: Callable[[Maker, Row], dict]
    cost: Callable[[Row], tuple[float, float]] = three_times_the_input
    weight: int = 1
    shown: tuple[Shown, ...] = ()


def with_gradients(function: Function, parameters: tuple = ()) -> Function:
    """Forward and backward, as a step of training has them: the gradients of the inputs and of `parameters`."""
    def run(*inputs: torch.Tensor) -> tuple:
        leaves = [tensor.detach().requires_grad_() for tensor in inputs]
        out = function(*leaves)
        return torch.autograd.grad(out, [*leaves, *parameters], torch.ones_like(out))
    return run


def row_operation(op: str, torch_of: Function, ingot_of: Function, count: int = 1, vocabulary: bool = False,
                  shown: bool = True) -> Shape:
    """An operation on the rows of `count` matrices. torch_of and ingot_of give a function for the weight and the bias.

    vocabulary: rows may be as long as a vocabulary.
    """
    def make(maker: Maker, row: Row) -> dict:
        weight, bias = (maker.normal(row.sizes[1], dtype=row.dtype) for _ in range(2))
        return {"make": lambda: tuple(maker.laid_out(row, *row.sizes) for _ in range(count)), "compiled": True,
                "torch": torch_of(weight, bias), "ingot": ingot_of(weight, bias),
                "bytes": 2 * count * math.prod(row.sizes) * TYPES[row.dtype].itemsize}

    table = tuple(Shown(Row("rows", op, dtype, sizes), (16, 64)) for dtype in ("f32", "bf16")
                  for sizes in ((8192, 4096), (32768, 8192), (65536, 1024), (32, 1024)))
    return Shape("rows", lambda draw, name: draw_row_operation(draw, name, vocabulary), make,
                 shown=table if shown else ())


def row_training(torch_of: Function, ingot_of: Function, parameters: int) -> Shape:
    """Forward and backward of a norm with its first `parameters` of weight and bias."""
    def make(maker: Maker, row: Row) -> dict:
        both = tuple(maker.normal(row.sizes[1], dtype=row.dtype).requires_grad_() for _ in range(2))
        return {"make": lambda: (maker.laid_out(row, *row.sizes),), "compiled": True,
                "torch": with_gradients(torch_of(*both), both[:parameters]),
                "ingot": with_gradients(ingot_of(*both), both[:parameters])}

    return Shape("rows", lambda draw, name: draw_row_operation(draw, name, layouts=False), make)


def row_backward(of_rows: Function, torch_of: Function, ingot_of: Function) -> Shape:
    """The gradient of an operation from its result: of_rows is torch's operation."""
    def make(maker: Maker, row: Row) -> dict:
        return {"make": lambda: (maker.laid_out(row, *row.sizes), of_rows(maker.laid_out(row, *row.sizes))),
                "torch": torch_of, "ingot": ingot_of, "compiled": True}

    return Shape("rows", lambda draw, name: draw_row_operation(draw, name, True, False), make)


def general(maker: Maker, batch: int, n: int) -> tuple:
    return (maker.normal(batch, n, n),)


def definite(maker: Maker, batch: int, n: int) -> tuple:
    a = maker.normal(batch, n, n)
    return (a @ a.mT / n + maker.identity(n),)


def system(maker: Maker, batch: int, n: int) -> tuple:
    return maker.normal(batch, n, n), maker.normal(batch, n, 4)


def matrices(op: str, inputs: Callable[[Maker, int, int], tuple], torch_of: Function, ingot_of: Function, flops: float,
             compare: Callable[..., float] = compare_results, spectrum: bool = False, shown: bool = True) -> Shape:
    """An operation on a batch of square matrices, of flops × n³. Neither side looks at whether one was singular."""
    def make(maker: Maker, row: Row) -> dict:
        batch, n, _ = row.sizes
        return {"make": lambda: inputs(maker, batch, n), "torch": torch_of, "ingot": ingot_of, "compare": compare}

    def cost(row: Row) -> tuple[float, float]:
        batch, n, _ = row.sizes
        return 3 * batch * n * n * 4, flops * batch * n ** 3

    table = tuple(Shown(Row("linear algebra", op, "f32", (batch, n, n)), (2, 32, 32))
                  for batch, n in ((4096, 32), (1024, 64), (64, 256)))
    return Shape("matrices", lambda draw, name: draw_matrices(draw, name, spectrum), make, cost,
                 shown=table if shown else ())
