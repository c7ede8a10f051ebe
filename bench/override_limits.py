#!/usr/bin/env python3
"""Measures from which size on ingot's overrides are faster than torch, and prints python/ingot/_overrides/measured.py.

For each operation and type, calls of growing size are timed with torch's kernel and with ingot's, in turns, in one
process with the same number of threads. ingot is to win by 3 % at least; the longest run of sizes at which it does
becomes the (least, most) of the file. Takes about two minutes; the machine should do nothing else meanwhile.

    python bench/override_limits.py --write
"""
from __future__ import annotations

import argparse
import datetime
import os
import pathlib
import sys
import time

from fair_process import start_fairly

FOLDER = pathlib.Path(__file__).resolve().parent
FILE = FOLDER.parent / "python" / "ingot" / "_overrides" / "measured.py"
GAIN = 0.97  # of torch's time, at most


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write", action="store_true", help="replace the file instead of printing it")
    parser.add_argument("--only", default="", help="only operations whose name contains this; prints the table only")
    parser.add_argument("--time", type=float, default=0.008, help="seconds per turn (0.008)")
    parser.add_argument("--turns", type=int, default=4, help="turns of each side (4)")
    parser.add_argument("--threads", type=int, default=len(os.sched_getaffinity(0)), help="of both (all cores)")
    return parser.parse_args()


options = arguments()
start_fairly(options.threads)
import torch  # noqa: E402  the number of threads is chosen before torch and ingot come
import torch.nn.functional as F  # noqa: E402

torch.set_num_threads(options.threads)
import ingot  # noqa: E402
from ingot._overrides import control, measured  # noqa: E402, F401  control declares the groups
from ingot._overrides.limits import GROUPS  # noqa: E402

F32, BF16 = torch.float32, torch.bfloat16
BOTH = (F32, BF16)
aten = torch.ops.aten


# ---- what is measured: name: (types, sizes as powers of 2, a function of type and elements that makes the call) ----


def normal(*shape: int, dtype: torch.dtype = F32, grad: bool = False) -> torch.Tensor:
    return torch.randn(*shape).to(dtype).requires_grad_(grad)


def flat(function):
    """A call on one tensor."""
    return lambda dtype, elements: (lambda x: lambda: function(x))(normal(elements, dtype=dtype))


def flat_gradient(function):
    """A call on a gradient and what came in or out before."""
    return lambda dtype, elements: (lambda d, x: lambda: function(d, x))(normal(elements, dtype=dtype),
                                                                        normal(elements, dtype=dtype))


def by_rows(function, width: int = 256):
    """A call on rows of `width`."""
    return lambda dtype, elements: (lambda x: lambda: function(x))(normal(max(elements // width, 1),
                                                                          min(elements, width), dtype=dtype))


def by_rows_gradient(function, width: int = 256):
    def make(dtype, elements):
        shape = max(elements // width, 1), min(elements, width)
        d, y = normal(*shape, dtype=dtype), torch.softmax(normal(*shape, dtype=dtype), -1)
        return lambda: function(d, y, dtype)
    return make


def norm(function, grad: bool, width: int = 256):
    """A norm with its gradient, or without."""
    def make(dtype, elements):
        width_here = min(elements, width)
        x = normal(max(elements // width, 1), width_here, dtype=dtype, grad=grad)
        weight, d = normal(width_here, dtype=dtype, grad=grad), torch.ones_like(x).detach()
        if not grad:
            return torch.no_grad()(lambda: function(x, weight))
        return lambda: torch.autograd.grad(function(x, weight), (x, weight), d)
    return make


def cross_entropy(dtype, elements):
    logits, targets = normal(max(elements // 256, 1), 256, dtype=dtype, grad=True), None
    targets = torch.randint(256, (logits.shape[0],))
    return lambda: torch.autograd.grad(F.cross_entropy(logits, targets), logits)


def bag(mode: str, backward: bool):
    """Bags of 32 indices into rows of 64."""
    def make(dtype, elements):
        count = max(elements // 64, 32)
        table, indices = normal(50_000, 64, dtype=dtype, grad=backward), torch.randint(50_000, (count,))
        offsets = torch.arange(0, count, 32)
        if not backward:
            return torch.no_grad()(lambda: F.embedding_bag(indices, table, offsets, mode=mode))
        return lambda: torch.autograd.grad(F.embedding_bag(indices, table, offsets, mode=mode).sum(), table)
    return make


def attention(queries: int | None, causal: bool = False, backward: bool = False):
    """8 heads of 64; elements are heads × queries × keys."""
    def make(dtype, elements):
        keys = elements // 8 if queries else max(int((elements / 8) ** 0.5), 1)
        q = normal(1, 8, queries or keys, 64, dtype=dtype)
        k, v = normal(1, 8, keys, 64, dtype=dtype), normal(1, 8, keys, 64, dtype=dtype)
        forward = aten._scaled_dot_product_flash_attention_for_cpu
        if not backward:
            return lambda: forward(q, k, v, 0.0, causal)
        out, lse = forward(q, k, v, 0.0, causal)
        gradient = aten._scaled_dot_product_flash_attention_for_cpu_backward
        return lambda: gradient(out, q, k, v, out, lse, 0.0, causal)
    return make


def linear(rows: int | None = None, weight: int = 1 << 20):
    """Rows of x times a matrix that is about square; elements are the matrix's, or the rows of x."""
    def make(dtype, elements):
        of_weight = elements if rows else weight
        n = 1 << (of_weight.bit_length() // 2)
        x, w = normal(rows or elements, of_weight // n, dtype=dtype), normal(n, of_weight // n, dtype=dtype)
        return torch.no_grad()(lambda: F.linear(x, w))
    return make


def matrices(function, prepare=lambda a: a, extent: int = 32):
    """Matrices of 32 × 32; elements are those of all."""
    def make(dtype, elements):
        a = prepare(normal(max(elements // extent**2, 1), extent, extent))
        return lambda: function(a)
    return make


def positive(a: torch.Tensor) -> torch.Tensor:
    return a @ a.mT + a.shape[-1] * torch.eye(a.shape[-1])


def adamw(fused: bool):
    def make(dtype, elements):
        parameters = [torch.nn.Parameter(normal(max(elements // 16, 1))) for _ in range(16)]
        for parameter in parameters:
            parameter.grad = torch.randn_like(parameter)
        return torch.optim.AdamW(parameters, fused=fused).step
    return make


ACTIVATION_SIZES, ROW_SIZES = range(8, 25, 2), range(8, 24, 2)
LINALG = {
    "qr": (torch.linalg.qr, lambda a: a), "cholesky": (torch.linalg.cholesky, positive),
    "lu": (torch.linalg.lu_factor, lambda a: a),
    "solve": (lambda a: torch.linalg.solve(a, a), lambda a: positive(a)),
    "triangular_solve": (lambda a: torch.linalg.solve_triangular(a, a, upper=False), lambda a: positive(a).tril()),
    "lstsq": (lambda a: torch.linalg.lstsq(a, a), lambda a: a),
    "eigh": (torch.linalg.eigh, positive), "eigvalsh": (torch.linalg.eigvalsh, positive),
    "svd": (lambda a: torch.linalg.svd(a, full_matrices=False), lambda a: a),
    "svdvals": (torch.linalg.svdvals, lambda a: a),
}
CASES = {
    "silu": (BOTH, ACTIVATION_SIZES, flat(F.silu)),
    "silu_backward": (BOTH, ACTIVATION_SIZES, flat_gradient(aten.silu_backward)),
    "gelu": (BOTH, ACTIVATION_SIZES, flat(F.gelu)),
    "gelu_backward": (BOTH, ACTIVATION_SIZES, flat_gradient(aten.gelu_backward)),
    "gelu_tanh": (BOTH, ACTIVATION_SIZES, flat(lambda x: F.gelu(x, approximate="tanh"))),
    "gelu_tanh_backward": (BOTH, ACTIVATION_SIZES,
                           flat_gradient(lambda d, x: aten.gelu_backward(d, x, approximate="tanh"))),
    "softmax": (BOTH, ROW_SIZES, by_rows(lambda x: F.softmax(x, -1))),
    "softmax_backward": (BOTH, ROW_SIZES, by_rows_gradient(
        lambda d, y, dtype: aten._softmax_backward_data(d, y, -1, dtype))),
    "log_softmax": (BOTH, ROW_SIZES, by_rows(lambda x: F.log_softmax(x, -1))),
    "log_softmax_backward": (BOTH, ROW_SIZES, by_rows_gradient(
        lambda d, y, dtype: aten._log_softmax_backward_data(d, y, -1, dtype))),
    "layer_norm": (BOTH, ROW_SIZES, norm(lambda x, w: F.layer_norm(x, w.shape, w, w), True)),
    "layer_norm_direct": (BOTH, ROW_SIZES, norm(lambda x, w: F.layer_norm(x, w.shape, w, w), False)),
    "rms_norm": (BOTH, ROW_SIZES, norm(lambda x, w: F.rms_norm(x, w.shape, w, 1e-6), True)),
    "rms_norm_direct": (BOTH, ROW_SIZES, norm(lambda x, w: F.rms_norm(x, w.shape, w, 1e-6), False)),
    "cross_entropy": (BOTH, range(10, 24, 2), cross_entropy),
    "embedding_bag": (BOTH, range(12, 25, 2), bag("sum", False)),
    "embedding_bag_mean": (BOTH, range(12, 25, 2), bag("mean", False)),
    "embedding_bag_backward": ((F32,), range(14, 25, 2), bag("sum", True)),
    "attention": (BOTH, range(9, 22, 2), attention(None)),
    "attention_decode": (BOTH, range(8, 16), attention(1)),
    "attention_backward": (BOTH, range(11, 22, 2), attention(None, backward=True)),
    "attention_backward_causal": (BOTH, range(11, 22, 2), attention(None, True, True)),
    "linear": (BOTH, range(12, 25), linear(1)),
    "linear_rows": ((F32,), range(0, 6), linear()),
    **{name: ((F32,), range(10, 21, 2), matrices(*case)) for name, case in LINALG.items()},
    "adamw": ((F32,), range(8, 24, 3), adamw(False)),
    "fused_adamw": ((F32,), range(8, 24, 3), adamw(True)),
}
PRODUCTS = {"silu_mul": (F.silu, "none"), "gelu_mul": (F.gelu, "none"),
            "gelu_tanh_mul": (lambda x: F.gelu(x, approximate="tanh"), "tanh")}
LARGEST = {name: (64, 128, 256, 512) for name in ("cholesky", "lu", "solve", "qr", "eigh", "svd")}


# ---- measuring --------------------------------------------------------------------------------------------


def group_of(name: str) -> str:
    return next(group for group, names in GROUPS.items() if name in names)


def turn(call) -> float:
    """Seconds per call: the shortest of a turn's calls."""
    shortest, end = float("inf"), time.perf_counter() + options.time
    while True:
        start = time.perf_counter()
        call()
        now = time.perf_counter()
        shortest = min(shortest, now - start)
        if now > end:
            return shortest


def compare(name: str, torch_call, ingot_call=None) -> float:
    """ingot's time as a share of torch's; without a call of its own, ingot has the override."""
    best = [float("inf"), float("inf")]
    groups = dict.fromkeys(GROUPS, False)
    for _ in range(options.turns):
        torch_call()
        best[0] = min(best[0], turn(torch_call))
        if ingot_call:
            ingot_call()
            best[1] = min(best[1], turn(ingot_call))
            continue
        with ingot.overrides(**{**groups, group_of(name): "always"}):
            torch_call()
            best[1] = min(best[1], turn(torch_call))
    return best[1] / best[0]


def longest_run(wins: list[bool]) -> tuple[int, int] | None:
    """Where the longest run of wins begins and ends (its last place); of equal ones the later."""
    best, start = None, None
    for place, won in enumerate([*wins, False]):
        if won and start is None:
            start = place
        elif not won and start is not None:
            if best is None or place - start >= best[1] - best[0] + 1:
                best = start, place - 1
            start = None
    return best


def span_of(sizes: list[int], shares: list[float]) -> tuple[str, str] | None:
    """(least, most) as they are written in the file."""
    run = longest_run([share <= GAIN for share in shares])
    if run is None:
        return None
    least = "1" if run[0] == 0 else f"1 << {sizes[run[0]]}"
    return least, "ANY" if run[1] == len(sizes) - 1 else f"1 << {sizes[run[1]]}"


def say(name: str, dtype: torch.dtype, sizes, shares) -> None:
    cells = " ".join(f"{size}:{1 / share:.2f}" for size, share in zip(sizes, shares))
    print(f"{name:26}{str(dtype)[6:]:10}{cells}", file=sys.stderr, flush=True)


def measure(name: str) -> dict[torch.dtype, tuple[str, str]]:
    """The spans of an operation, by type."""
    found = {}
    if name in PRODUCTS:
        function, formula = PRODUCTS[name]
        dtypes, sizes = BOTH, ACTIVATION_SIZES
        ours = ingot.ops.silu_mul if name == "silu_mul" else lambda x, y: ingot.ops.gelu_mul(x, y, formula)
    else:
        dtypes, sizes, make = CASES[name]
    for dtype in dtypes:
        shares = []
        for size in sizes:
            if name in PRODUCTS:
                x, y = normal(1 << size, dtype=dtype), normal(1 << size, dtype=dtype)
                shares.append(compare(name, lambda: function(x) * y, lambda: ours(x, y)))
            else:
                shares.append(compare(name, make(dtype, 1 << size)))
        say(name, dtype, sizes, shares)
        span = span_of(list(sizes), shares)
        if span:
            found[dtype] = span
    return found


def largest(name: str) -> int | None:
    """The largest matrix at which ingot wins; None where it wins at all, or at none."""
    function, prepare = LINALG[name]
    shares = [compare(name, matrices(function, prepare, extent)(F32, extent**2)) for extent in LARGEST[name]]
    say(f"{name}, by extent", F32, LARGEST[name], shares)
    won = [extent for extent, share in zip(LARGEST[name], shares) if share <= GAIN]
    return None if len(won) == len(shares) else max(won, default=32)


# ---- the file ---------------------------------------------------------------------------------------------

HEADINGS = {"silu": "activations", "softmax": "rows", "embedding_bag": "embedding_bag: indices times row length",
            "attention": "attention: queries times keys times heads",
            "linear": "products: elements of the matrix, and rows of the other factor",
            "qr": "linear algebra: elements of a; LARGEST_MEASURED bounds the matrix",
            "adamw": "optimizers: elements of all parameters; fused_adamw against torch's fused step"}
TEXT = '''"""Where ingot was measured to be faster than torch, by operator and type; made by bench/override_limits.py.

MEASURED has the (least, most) number of elements of the largest input. What is not listed was not
faster, or not measured, and stays with torch. Names with _direct are for calls without gradients.
Measured with torch {torch} and {threads} threads, {date}.
"""

from __future__ import annotations

import torch

__all__ = ["ANY", "LARGEST_LSTSQ", "LARGEST_MEASURED", "LEAST_RIGHT_SIDES", "MEASURED", "TALL"]

ANY = 1 << 62
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16

MEASURED: dict[str, dict[torch.dtype, tuple[int, int]]] = {{
{rows}
}}

# Matrices of more rows or columns than this stay with torch.
LARGEST_MEASURED = {largest}

# A triangular solve of fewer right sides than this stays with torch.
LEAST_RIGHT_SIDES = {right_sides}

# Least squares: any matrix of up to 64 rows and columns, larger ones with so many times as many rows as columns.
LARGEST_LSTSQ, TALL = {lstsq}, {tall}
'''


def file_text(spans: dict, extents: dict[str, int]) -> str:
    rows = []
    for name, found in spans.items():
        if name in HEADINGS:
            rows.append(f"    # {HEADINGS[name]}")
        cells = ", ".join(f"{'F32' if dtype == F32 else 'BF16'}: ({least}, {most})"
                          for dtype, (least, most) in found.items())
        if cells:
            rows.append(f'    "{name}": {{{cells}}},')
    entries = ", ".join(f'"{name}": {extent}' for name, extent in extents.items())
    return TEXT.format(torch=torch.__version__, threads=options.threads, date=datetime.date.today(),
                       rows="\n".join(rows), largest=f"{{{entries}}}", right_sides=measured.LEAST_RIGHT_SIDES,
                       lstsq=measured.LARGEST_LSTSQ, tall=measured.TALL)


def main() -> None:
    torch.manual_seed(0)
    names = list(CASES)
    names[6:6] = list(PRODUCTS)
    spans = {name: measure(name) for name in names if options.only in name}
    extents = {name: extent for name in LARGEST if options.only in name and spans[name]
               and (extent := largest(name)) is not None}
    if options.only:
        return
    text = file_text(spans, extents)
    if options.write:
        FILE.write_text(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
