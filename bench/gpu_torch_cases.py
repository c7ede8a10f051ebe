"""The rows of bench/gpu_torch.py: what torch and ingot compute from the same tensors.

A case gives inputs for torch's function and for ingot's, the bytes that have to move (inputs once, outputs once) and
how a result is compared. Sizes go through `cut`, which leaves them alone or, on a machine without a GPU, shortens them.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import torch
import torch.nn.functional as F

import ingot.ops
import ingot.optim

TYPES = {"f32": torch.float32, "bf16": torch.bfloat16}
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


@dataclass
class Case:
    """A row. `make` gives one set of inputs; torch's function and ingot's both take it."""
    op: str
    shape: str
    dtype: str
    make: Callable[[], tuple]
    torch: Function | None
    ingot: Function
    compiled: bool = False
    bytes: float = 0
    flops: float = 0
    compare: Callable[..., float] = compare_results
    limit: float = 0  # of what compare gives; 0: by type
    sets: int = 0  # of inputs; 0: as many as do not fit into the cache

    def bound(self) -> float:
        return self.limit or {"f32": 2e-5, "bf16": 1e-2}[self.dtype]


class Maker:
    """Random tensors on one device."""

    def __init__(self, device: str, cut: Callable[[int], int]):
        self.device, self.cut = device, cut

    def normal(self, *shape: int, dtype: str = "f32") -> torch.Tensor:
        return torch.randn(*shape, device=self.device, dtype=TYPES[dtype])

    def integers(self, limit: int, *shape: int, dtype: torch.dtype = torch.int64) -> torch.Tensor:
        return torch.randint(0, limit, shape, device=self.device, dtype=dtype)


def add_rms_norm(x: torch.Tensor, residual: torch.Tensor, weight: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    total = x + residual
    return F.rms_norm(total, weight.shape, weight, 1e-6), total


def row_cases(make: Maker, rows: int, width: int, dtype: str) -> Iterator[Case]:
    """Norms, softmax and activations."""
    shape, r, w = f"{rows}x{width}", make.cut(rows), make.cut(width)
    size = r * w * TYPES[dtype].itemsize
    weight, bias = make.normal(w, dtype=dtype), make.normal(w, dtype=dtype)

    def case(op: str, other: Function, mine: Function, count: int = 1) -> Case:
        return Case(op, shape, dtype, lambda: tuple(make.normal(r, w, dtype=dtype) for _ in range(count)), other, mine,
                    True, 2 * count * size)

    yield case("rms_norm", lambda x: F.rms_norm(x, (w,), weight, 1e-6),
               lambda x: ingot.ops.rms_norm(x, weight, eps=1e-6))
    yield case("layer_norm", lambda x: F.layer_norm(x, (w,), weight, bias, 1e-5),
               lambda x: ingot.ops.layer_norm(x, weight, bias, eps=1e-5))
    yield case("softmax", lambda x: torch.softmax(x, -1), ingot.ops.softmax)
    yield case("silu", F.silu, ingot.ops.silu)
    yield case("gelu", F.gelu, ingot.ops.gelu)
    yield case("add_rms_norm", lambda x, y: add_rms_norm(x, y, weight),
               lambda x, y: ingot.ops.add_rms_norm(x, y, weight, eps=1e-6), 2)


def rotate(x: torch.Tensor, cos: torch.Tensor, sin: torch.Tensor) -> torch.Tensor:
    first, second = x.chunk(2, -1)
    return torch.cat((first * cos - second * sin, first * sin + second * cos), -1).to(x.dtype)


def rope_cases(make: Maker, dtype: str) -> Iterator[Case]:
    """Rotary embedding with tables in float32."""
    batch, heads, length, size = make.cut(4), make.cut(32), make.cut(4096), 128
    angles = make.normal(length, size // 2)
    cos, sin = angles.cos(), angles.sin()
    yield Case("rope", "4x32x4096x128", dtype, lambda: (make.normal(batch, heads, length, size, dtype=dtype),),
               lambda x: rotate(x, cos, sin), lambda x: ingot.ops.rope(x, cos=cos, sin=sin), True,
               2 * batch * heads * length * size * TYPES[dtype].itemsize)


def attention_cases(make: Maker, dtype: str) -> Iterator[Case]:
    """Causal prefill, and one query over a long cache."""
    shapes = [(4, 32, 32, 4096), (4, 32, 8, 4096)] + ([(1, 32, 8, 16384)] if dtype == "bf16" else [])
    for batch, heads, groups, length in shapes:
        name = f"{batch}x{heads}/{groups}x{length}x128"
        cut = make.cut(length)
        yield Case("sdpa_causal" + ("_gqa" if groups != heads else ""), name, dtype,
                   lambda b=batch, h=heads, g=groups, n=cut: tuple(make.normal(b, c, n, 128, dtype=dtype)
                                                                   for c in (h, g, g)),
                   lambda q, k, v, gqa=groups != heads: F.scaled_dot_product_attention(q, k, v, is_causal=True,
                                                                                       enable_gqa=gqa),
                   lambda q, k, v: ingot.ops.attention(q, k, v, causal=True),
                   flops=2 * batch * heads * cut * cut * 128)
    length = make.cut(32768)
    yield Case("sdpa_decode_gqa", "8x32/8x32768x128", dtype,
               lambda: tuple(make.normal(8, h, n, 128, dtype=dtype) for h, n in ((32, 1), (8, length), (8, length))),
               lambda q, k, v: F.scaled_dot_product_attention(q, k, v, enable_gqa=True), ingot.ops.attention,
               bytes=2 * 8 * 8 * length * 128 * TYPES[dtype].itemsize)


def matrix_cases(make: Maker, dtype: str) -> Iterator[Case]:
    """Products of matrices, and of a matrix and a vector."""
    n = make.cut(16384)
    yield Case("matvec", "16384x16384", dtype, lambda: (make.normal(n, n, dtype=dtype), make.normal(n, dtype=dtype)),
               lambda a, x: a @ x, lambda a, x: ingot.ops.matmul(x, a, transpose_b=True),
               bytes=n * n * TYPES[dtype].itemsize)
    for size in (4096, 8192) if dtype == "bf16" else (4096,):
        m = make.cut(size)
        pair = lambda m=m: (make.normal(m, m, dtype=dtype), make.normal(m, m, dtype=dtype))  # noqa: E731
        yield Case("matmul", f"{size}", dtype, pair, torch.matmul, ingot.ops.matmul, flops=2 * m ** 3)
        if size == 4096:
            yield Case("matmul", f"{size} nt", dtype, pair, F.linear, ingot.ops.linear, flops=2 * m ** 3)


def four_bit_cases(make: Maker) -> Iterator[Case]:
    """A vector times weights of 4 bits in groups of 128; torch's product of int4, which packs them otherwise, where it
    has one for the device."""
    n, group = make.cut(16384), 128
    has_int4 = make.device != "cpu" and hasattr(torch, "_weight_int4pack_mm")

    def inputs() -> tuple:
        weights = ingot.ops.quantise(make.normal(n, n, dtype="bf16"), 4, group)
        packed = make.integers(256, n, n // 2, dtype=torch.uint8)
        return (make.normal(1, n, dtype="bf16"), weights.packed, weights.scales,
                torch._convert_weight_to_int4pack(packed, 8) if has_int4 else packed,
                make.normal(n // group, n, 2, dtype="bf16"))

    def mine(x: torch.Tensor, packed: torch.Tensor, scales: torch.Tensor, *_: torch.Tensor) -> torch.Tensor:
        return ingot.ops.quantised_matvec(x, ingot.ops.QuantisedTensor(packed, scales, None, 4, group))

    def error(result: torch.Tensor, _: object, x: torch.Tensor, packed: torch.Tensor, scales: torch.Tensor,
              *rest: torch.Tensor) -> float:
        weights = ingot.ops.QuantisedTensor(packed, scales.float(), None, 4, group)
        return distance(result, x.float() @ weights.dequantise(torch.float32).T)

    def other(x: torch.Tensor, _: object, __: object, packed: torch.Tensor, zeros: torch.Tensor) -> torch.Tensor:
        return torch._weight_int4pack_mm(x, packed, group, zeros)

    yield Case("quantised_matvec", "16384x16384, 4 bits by 128", "bf16", inputs, other if has_int4 else None, mine,
               bytes=n * n // 2 + n * n // group * 2, compare=error, sets=4)


def training_cases(make: Maker) -> Iterator[Case]:
    """Bags of embeddings, and AdamW's step."""
    rows, bags = make.cut(1_000_000), make.cut(16384)
    indices, offsets = make.integers(rows, bags * 64), torch.arange(0, bags * 64, 64, device=make.device)
    for dtype in TYPES:
        yield Case("embedding_bag_sum", "1Mx128, 16384 bags of 64", dtype,
                   lambda dtype=dtype: (make.normal(rows, 128, dtype=dtype),),
                   lambda table: F.embedding_bag(indices, table, offsets, mode="sum"),
                   lambda table: ingot.ops.embedding_bag(indices, table, offsets, mode="sum"),
                   bytes=(bags * 64 + bags) * 128 * TYPES[dtype].itemsize)
    for count, elements, name in ((1, 64 << 20, "64Mi params"), (100, 1 << 20, "100 of 1Mi params")):
        elements = make.cut(elements)
        steps = [AdamwStep(kind, make, count, elements)
                 for kind in (lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True),
                              lambda p: ingot.optim.AdamW(p, lr=1e-3))]
        yield Case("adamw_fused", name, "f32", tuple, *steps, bytes=28 * count * elements, limit=1e-4, sets=1,
                   compare=lambda result, other: compare_results(tuple(result), tuple(other)))


class AdamwStep:
    """A step over parameters of its own; the parameters, the same at the start in all, are what it gives."""

    def __init__(self, kind: Function, make: Maker, count: int, elements: int):
        torch.manual_seed(1)
        self.parameters = [make.normal(elements).requires_grad_() for _ in range(count)]
        for parameter in self.parameters:
            parameter.grad = torch.randn_like(parameter)
        self.optimizer = kind(self.parameters)

    def __call__(self) -> list[torch.Tensor]:
        self.optimizer.step()
        return self.parameters


def product_error(product: Callable[[tuple], torch.Tensor]) -> Callable[..., float]:
    """Compares what a decomposition multiplies out to with the matrix."""
    return lambda result, _, a: distance(product(result), a)


def solution_error(result: torch.Tensor, _: object, a: torch.Tensor, b: torch.Tensor) -> float:
    """What is left of the equations, relative to the terms."""
    return float((a @ result - b).norm() / (a.norm() * result.norm()))


def linear_algebra_cases(make: Maker) -> Iterator[Case]:
    """Batches of small matrices. Neither side looks at whether matrices were singular (torch's _ex functions)."""
    for n, count in ((32, 4096), (64, 1024), (256, 64)):
        shape, count = f"{count}x{n}x{n}", make.cut(count)

        def general() -> tuple:
            return (make.normal(count, n, n),)

        def definite() -> tuple:
            a = make.normal(count, n, n)
            return (a @ a.mT + n * torch.eye(n, device=make.device),)

        yield Case("qr", shape, "f32", general, torch.linalg.qr, ingot.ops.qr,
                   compare=product_error(lambda qr: qr[0] @ qr[1]))
        yield Case("cholesky", shape, "f32", definite, lambda a: torch.linalg.cholesky_ex(a)[0],
                   lambda a: ingot.ops.cholesky(a, check=False))
        yield Case("solve", shape, "f32", lambda: (make.normal(count, n, n), make.normal(count, n, 1)),
                   lambda a, b: torch.linalg.solve_ex(a, b)[0], lambda a, b: ingot.ops.solve(a, b, check=False),
                   compare=solution_error)
        yield Case("eigh", shape, "f32", definite, torch.linalg.eigh, ingot.ops.eigh,
                   compare=product_error(lambda e: (e[1] * e[0].unsqueeze(-2)) @ e[1].mT))
        yield Case("svd", shape, "f32", general, lambda a: torch.linalg.svd(a, full_matrices=False), ingot.ops.svd,
                   compare=product_error(lambda s: (s[0] * s[1].unsqueeze(-2)) @ s[2]))


def all_cases(make: Maker) -> Iterator[Case]:
    """Every row, large ones of one kind after another; tensors of a kind go when the next begins."""
    for dtype in TYPES:
        for rows, width in ((8192, 4096), (32768, 8192), (65536, 1024), (32, 1024)):
            yield from row_cases(make, rows, width, dtype)
        yield from rope_cases(make, dtype)
        yield from attention_cases(make, dtype)
        yield from matrix_cases(make, dtype)
    yield from four_bit_cases(make)
    yield from training_cases(make)
    yield from linear_algebra_cases(make)
