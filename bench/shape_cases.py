"""What a row of bench/shapes.py computes: torch's function and ingot's on the same tensors, and its cost."""
from __future__ import annotations

import math

import torch
import torch.nn.functional as F

import ingot.ops
from gpu_torch_cases import (AdamwStep, Case, Function, Maker, add_rms_norm, compare_results, product_error, rotate,
                             solution_error)
from shape_draws import Row

TYPES = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
LIMITS = {"f32": 5e-5, "f16": 4e-3, "bf16": 3e-2}
OWN = torch.ops.ingot
DECOMPOSITION_FLOPS = {"qr": 8 / 3, "cholesky": 1 / 3, "solve": 2 / 3, "lu": 2 / 3, "eigh": 9, "svd": 20,
                       "triangular_solve": 1}


def cost(row: Row) -> tuple[float, float]:
    """Bytes and flops of a row, without making a tensor."""
    s, size = row.sizes, TYPES[row.dtype].itemsize
    if row.family == "attention":
        batch, queries, keys, length, head = s
        part = 0.5 if "causal" in row.options else 1
        times = 3.5 if row.op.endswith("training") else 1
        return 4 * batch * queries * length * head * size, times * part * 4 * batch * queries * length * length * head
    if row.family == "decode":
        batch, queries, keys, length, head = s
        return 2 * batch * keys * length * head * size, 4 * batch * queries * length * head
    if row.op in ("matmul", "quantised_linear"):
        m, n, k = s
        return (m * k + n * k + m * n) * size, 2 * m * n * k
    if row.op in DECOMPOSITION_FLOPS:
        batch, n, _ = s
        return 3 * batch * n * n * size, DECOMPOSITION_FLOPS[row.op] * batch * n ** 3
    if row.op == "embedding_bag":
        return (s[0] + s[2] * s[3]) * s[1] * size, 0
    if row.op == "adamw":
        return 2 * 28 * s[0] * s[1], 0
    return 3 * math.prod(s) * size, 0


def laid_out(make: Maker, row: Row, *shape: int) -> torch.Tensor:
    """A random matrix in the layout of the row."""
    def normal(*sizes: int) -> torch.Tensor:
        return torch.randn(*sizes, device=make.device, dtype=TYPES[row.dtype])

    *outer, rows, columns = shape
    if "odd start" in row.options:
        return normal(math.prod(shape) + 1)[1:].view(shape)
    if "padded rows" in row.options:
        return normal(*outer, rows, columns + 3)[..., :columns]
    if "transposed" in row.options:
        return normal(*outer, columns, rows).mT
    return normal(*shape)


def rows_case(make: Maker, row: Row) -> dict:
    tokens, width = row.sizes
    x = lambda: laid_out(make, row, tokens, width)  # noqa: E731
    weight, bias = (torch.randn(width, device=make.device, dtype=TYPES[row.dtype]) for _ in range(2))
    aten = torch.ops.aten
    forward = {
        "rms_norm": (1, lambda a: F.rms_norm(a, (width,), weight, 1e-6),
                     lambda a: ingot.ops.rms_norm(a, weight, eps=1e-6)),
        "layer_norm": (1, lambda a: F.layer_norm(a, (width,), weight, bias, 1e-5),
                       lambda a: ingot.ops.layer_norm(a, weight, bias, eps=1e-5)),
        "add_rms_norm": (2, lambda a, b: add_rms_norm(a, b, weight),
                         lambda a, b: ingot.ops.add_rms_norm(a, b, weight, eps=1e-6)),
        "softmax": (1, lambda a: torch.softmax(a, -1), ingot.ops.softmax),
        "log_softmax": (1, lambda a: torch.log_softmax(a, -1), ingot.ops.log_softmax),
        "silu": (1, F.silu, ingot.ops.silu), "gelu": (1, F.gelu, ingot.ops.gelu),
        "silu_mul": (2, lambda a, b: F.silu(a) * b, ingot.ops.silu_mul),
        "softmax_backward": (2, lambda d, y: aten._softmax_backward_data(d, y, -1, y.dtype), OWN.softmax_backward),
        "log_softmax_backward": (2, lambda d, y: aten._log_softmax_backward_data(d, y, -1, y.dtype),
                                 OWN.log_softmax_backward),
        "rms_norm_training": (1, lambda a: F.rms_norm(a, (width,), weight, 1e-6),
                              lambda a: ingot.ops.rms_norm(a, weight, eps=1e-6)),
        "layer_norm_training": (1, lambda a: F.layer_norm(a, (width,), weight, bias, 1e-5),
                                lambda a: ingot.ops.layer_norm(a, weight, bias, eps=1e-5)),
    }
    count, other, mine = forward[row.op]
    if row.op.endswith("_training"):
        parameters = (weight.requires_grad_(), bias.requires_grad_())[:1 + row.op.startswith("layer")]
        other, mine = with_gradients(other, parameters), with_gradients(mine, parameters)

    def inputs() -> tuple:
        made = tuple(x() for _ in range(count))
        if row.op == "softmax_backward":
            return made[0], torch.softmax(made[1], -1)
        return (made[0], torch.log_softmax(made[1], -1)) if row.op == "log_softmax_backward" else made

    return {"make": inputs, "torch": other, "ingot": mine, "compiled": True}


def with_gradients(function: Function, parameters: tuple = ()) -> Function:
    """Forward and backward, as a step of training has them: the gradients of the inputs and of `parameters`."""
    def run(*inputs: torch.Tensor) -> tuple:
        leaves = [tensor.detach().requires_grad_() for tensor in inputs]
        out = function(*leaves)
        return torch.autograd.grad(out, [*leaves, *parameters], torch.ones_like(out))
    return run


def loss_case(make: Maker, row: Row) -> dict:
    tokens, vocabulary = row.sizes
    targets = make.integers(vocabulary, tokens)

    def inputs() -> tuple:
        return (torch.randn(tokens, vocabulary, device=make.device, dtype=TYPES[row.dtype]),)

    if row.op == "cross_entropy":
        return {"make": inputs, "torch": lambda x: F.cross_entropy(x, targets),
                "ingot": lambda x: ingot.ops.cross_entropy(x, targets), "compiled": True}

    return {"make": inputs, "torch": with_gradients(lambda x: F.cross_entropy(x, targets)),
            "ingot": with_gradients(lambda x: ingot.ops.cross_entropy(x, targets))}


def other_case(make: Maker, row: Row) -> dict:
    s, dtype = row.sizes, TYPES[row.dtype]
    if row.op == "rope":
        angles = torch.randn(s[2], s[3] // 2, device=make.device)
        cos, sin = angles.cos(), angles.sin()
        return {"make": lambda: (torch.randn(s, device=make.device, dtype=dtype),),
                "torch": lambda x: rotate(x, cos, sin),
                "ingot": lambda x: ingot.ops.rope(x, cos=cos, sin=sin), "compiled": True}
    if row.op == "embedding_bag":
        table, width, bags, length = s
        indices = make.integers(table, bags * length)
        offsets = torch.arange(0, bags * length, length, device=make.device)
        return {"make": lambda: (torch.randn(table, width, device=make.device, dtype=dtype),),
                "torch": lambda t: F.embedding_bag(indices, t, offsets, mode="sum"),
                "ingot": lambda t: ingot.ops.embedding_bag(indices, t, offsets, mode="sum")}
    steps = [AdamwStep(kind, make, *s) for kind in (lambda p: torch.optim.AdamW(p, lr=1e-3, fused=True),
                                                    lambda p: ingot.optim.AdamW(p, lr=1e-3))]
    return {"make": tuple, "torch": steps[0], "ingot": steps[1], "sets": 1, "limit": 1e-4,
            "compare": lambda result, other: compare_results(tuple(result), tuple(other))}


def attention_case(make: Maker, row: Row) -> dict:
    batch, queries, keys, length, size = row.sizes
    dtype, own = TYPES[row.dtype], {}
    others = {"enable_gqa": queries != keys}
    rows = 1 if row.family == "decode" else max(length // 3, 1) if "cross" in row.options else length
    causal = "causal" in row.options
    if "window" in row.options:
        own = {"causal": True, "window": max(length // 4, 1)}
        at = torch.arange(length, device=make.device)
        offset = at - at[length - rows:, None]
        others["attn_mask"] = (offset <= 0) & (offset > -own["window"])
    elif causal:
        own["causal"] = True
        if rows == length:
            others["is_causal"] = True
        else:
            others["attn_mask"] = torch.ones(rows, length, dtype=torch.bool, device=make.device).tril(length - rows)

    def inputs() -> tuple:
        return tuple(torch.randn(batch, h, n, size, device=make.device, dtype=dtype)
                     for h, n in ((queries, rows), (keys, length), (keys, length)))

    def other(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, **others)

    def mine(q, k, v):
        return ingot.ops.attention(q, k, v, **own)
    if row.op == "attention_training":
        return {"make": inputs, "torch": with_gradients(other), "ingot": with_gradients(mine),
                "limit": 2 * LIMITS[row.dtype]}
    if row.op != "paged_decode":
        return {"make": inputs, "torch": other, "ingot": mine}
    return paged_case(make, row, inputs, other)


def paged_case(make: Maker, row: Row, inputs, other) -> dict:
    """The same keys and values in blocks of 16 that lie in any order; torch has them in one piece, its best case."""
    batch, _, keys, length, size = row.sizes
    blocks = -(-length // 16)
    order = torch.randperm(batch * blocks, device=make.device)
    table = order.view(batch, blocks).to(torch.int32)
    lengths = torch.full((batch,), length, dtype=torch.int32, device=make.device)

    def paged() -> tuple:
        q, k, v = inputs()
        caches = []
        for one in (k, v):
            padded = F.pad(one, (0, 0, 0, blocks * 16 - length)).view(batch, keys, blocks, 16, size)
            cache = torch.empty(batch * blocks, keys, 16, size, device=make.device, dtype=one.dtype)
            cache[order] = padded.transpose(1, 2).reshape(batch * blocks, keys, 16, size)
            caches.append(cache)
        return q, k, v, *caches

    return {"make": paged, "torch": lambda q, k, v, *_: other(q, k, v),
            "ingot": lambda q, k, v, kc, vc: ingot.ops.attention_paged(q, kc, vc, table, lengths, max_length=length)}


def linear_case(make: Maker, row: Row) -> dict:
    m, n, k = row.sizes
    way = next((o for o in row.options if o in ("nt", "tn", "tt")), "nn")

    def inputs() -> tuple:
        a = laid_out(make, row, *((k, m) if way[0] == "t" else (m, k)))
        return a, laid_out(make, row, *((n, k) if way[1] == "t" else (k, n)))

    return {"make": inputs,
            "torch": lambda a, b: torch.matmul(a.mT if way[0] == "t" else a, b.mT if way[1] == "t" else b),
            "ingot": lambda a, b: ingot.ops.matmul(a, b, transpose_a=way[0] == "t", transpose_b=way[1] == "t")}


def quantised_case(make: Maker, row: Row) -> dict:
    m, n, k = row.sizes
    bits, group = int(row.options[0].split()[0]), int(row.options[1].split()[-1])
    dtype = TYPES[row.dtype]

    def inputs() -> tuple:
        weights = ingot.ops.quantise(torch.randn(n, k, device=make.device, dtype=dtype), bits, group)
        x = torch.randn(m, k, device=make.device, dtype=dtype)
        return x, weights.packed, weights.scales, weights.dequantise(dtype)

    def mine(x: torch.Tensor, packed: torch.Tensor, scales: torch.Tensor, _: object) -> torch.Tensor:
        return ingot.ops.quantised_linear(x, ingot.ops.QuantisedTensor(packed, scales, None, bits, group))

    return {"make": inputs, "torch": lambda x, p, s, w: F.linear(x, w), "ingot": mine}


def matrices_case(make: Maker, row: Row) -> dict:
    batch, n, _ = row.sizes

    def general() -> tuple:
        return (torch.randn(batch, n, n, device=make.device),)

    def definite() -> tuple:
        a = torch.randn(batch, n, n, device=make.device)
        return (a @ a.mT / n + torch.eye(n, device=make.device),)

    def system() -> tuple:
        return *general(), torch.randn(batch, n, 4, device=make.device)

    def lower() -> tuple:
        a, b = system()
        return a.tril() / n + 2 * torch.eye(n, device=make.device), b

    def lu_product(result: tuple) -> torch.Tensor:
        p, low, up = torch.lu_unpack(result[0], (result[1] + 1).to(torch.int32))  # ingot's pivots count from 0
        return p @ low @ up

    return {
        "qr": {"make": general, "torch": torch.linalg.qr, "ingot": ingot.ops.qr,
               "compare": product_error(lambda r: r[0] @ r[1])},
        "cholesky": {"make": definite, "torch": lambda a: torch.linalg.cholesky_ex(a)[0],
                     "ingot": lambda a: ingot.ops.cholesky(a, check=False)},
        "solve": {"make": system, "torch": lambda a, b: torch.linalg.solve_ex(a, b)[0],
                  "ingot": lambda a, b: ingot.ops.solve(a, b, check=False), "compare": solution_error},
        "eigh": {"make": definite, "torch": torch.linalg.eigh, "ingot": ingot.ops.eigh,
                 "compare": product_error(lambda e: (e[1] * e[0].unsqueeze(-2)) @ e[1].mT)},
        "svd": {"make": general, "torch": lambda a: torch.linalg.svd(a, full_matrices=False), "ingot": ingot.ops.svd,
                "compare": product_error(lambda s: (s[0] * s[1].unsqueeze(-2)) @ s[2])},
        "lu": {"make": general, "torch": lambda a: torch.linalg.lu_factor_ex(a)[:2], "ingot": ingot.ops.lu,
               "compare": product_error(lu_product)},
        "triangular_solve": {"make": lower, "torch": lambda a, b: torch.linalg.solve_triangular(a, b, upper=False),
                             "ingot": lambda a, b: ingot.ops.triangular_solve(a, b, upper=False),
                             "compare": solution_error},
    }[row.op]


def make_case(make: Maker, row: Row) -> Case:
    """The case of a row."""
    if row.family in ("attention", "decode"):
        parts = attention_case(make, row)
    elif row.op == "matmul":
        parts = linear_case(make, row)
    elif row.op == "quantised_linear":
        parts = quantised_case(make, row)
    elif row.op in DECOMPOSITION_FLOPS:
        parts = matrices_case(make, row)
    elif row.op.startswith("cross_entropy"):
        parts = loss_case(make, row)
    elif row.op in ("rope", "embedding_bag", "adamw"):
        parts = other_case(make, row)
    else:
        parts = rows_case(make, row)
    size, flops = cost(row)
    parts = {"limit": LIMITS[row.dtype], **parts}
    return Case(row.op, "x".join(map(str, row.sizes)), row.dtype, **parts, bytes=size, flops=flops)
