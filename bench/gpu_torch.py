#!/usr/bin/env python3
"""ingot's operators on CUDA tensors against torch's, side by side in one run.

    python bench/gpu_torch.py [--seconds 0.05] [--json FILE]

`device` is the time on the GPU by events (median of rounds, inputs rotated past the cache), `host` what a call takes
until it has queued its work. Both are in microseconds; torch's are of its eager operators.
"""
from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable

import torch
import torch.nn.functional as F

import ingot.ops
import ingot.optim

CACHE_BYTES = 256 << 20  # what the inputs of a round must exceed


def device_time(function: Callable[[int], object], seconds: float) -> float:
    """Microseconds per call, by events around batches of calls."""
    for number in range(5):
        function(number)
    torch.cuda.synchronize()
    started = time.perf_counter()
    times: list[float] = []
    while len(times) < 3 or time.perf_counter() - started < seconds:
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(1_000_000)  # the calls are queued while the GPU is busy: host time does not count
        first.record()
        for number in range(10):
            function(number)
        last.record()
        last.synchronize()
        times.append(first.elapsed_time(last) * 100)
    return statistics.median(times)


def host_time(function: Callable[[int], object]) -> float:
    """Microseconds until a call returns, with the GPU kept from falling behind."""
    times = []
    for _ in range(50):
        torch.cuda.synchronize()
        started = time.perf_counter()
        for number in range(10):
            function(number)
        times.append((time.perf_counter() - started) * 1e5)
    return statistics.median(times)


def rotated(make: Callable[[], torch.Tensor]) -> list[torch.Tensor]:
    """As many inputs as do not fit into the cache, at most 16."""
    first = make()
    count = min(16, max(1, -(-CACHE_BYTES // (first.numel() * first.element_size()))))
    return [first] + [make() for _ in range(count - 1)]


def row_cases(rows: int, width: int, dtype: torch.dtype) -> dict[str, tuple[Callable, Callable]]:
    """Norms, softmax and activations over rows."""
    xs = rotated(lambda: torch.randn(rows, width, device="cuda", dtype=dtype))
    weight = torch.randn(width, device="cuda", dtype=dtype)
    pick = lambda number: xs[number % len(xs)]  # noqa: E731
    return {
        "rms_norm": (lambda n: ingot.ops.rms_norm(pick(n), weight), lambda n: F.rms_norm(pick(n), (width,), weight)),
        "softmax": (lambda n: ingot.ops.softmax(pick(n)), lambda n: pick(n).softmax(-1)),
        "silu": (lambda n: ingot.ops.silu(pick(n)), lambda n: F.silu(pick(n))),
    }


def decode_cases(length: int, dtype: torch.dtype) -> dict[str, tuple[Callable, Callable]]:
    """One query over a long cache, with grouped heads."""
    q = torch.randn(8, 32, 1, 128, device="cuda", dtype=dtype)
    k, v = (torch.randn(8, 8, length, 128, device="cuda", dtype=dtype) for _ in range(2))
    return {"attention": (lambda n: ingot.ops.attention(q, k, v),
                          lambda n: F.scaled_dot_product_attention(q, k, v, enable_gqa=True))}


def adamw_cases(count: int, elements: int) -> dict[str, tuple[Callable, Callable]]:
    """A step over many tensors."""
    def step(make: Callable) -> Callable[[int], object]:
        params = [torch.randn(elements, device="cuda").requires_grad_() for _ in range(count)]
        for param in params:
            param.grad = torch.randn_like(param)
        optimizer = make(params)
        return lambda number: optimizer.step()

    return {"adamw": (step(lambda params: ingot.optim.AdamW(params, lr=1e-3)),
                      step(lambda params: torch.optim.AdamW(params, lr=1e-3, fused=True)))}


def measure(title: str, cases: dict[str, tuple[Callable, Callable]], seconds: float) -> list[dict]:
    """A row per case, printed as it is done."""
    rows = []
    for name, (mine, other) in cases.items():
        row = {"case": f"{name} {title}", "ingot_device": device_time(mine, seconds),
               "torch_device": device_time(other, seconds), "ingot_host": host_time(mine),
               "torch_host": host_time(other)}
        row["times"] = row["torch_device"] / row["ingot_device"]
        rows.append(row)
        print(f"{row['case']:34} {row['ingot_device']:12.1f} {row['torch_device']:12.1f} {row['times']:7.2f} "
              f"{row['ingot_host']:11.2f} {row['torch_host']:11.2f}", flush=True)
    return rows


def main() -> int:
    """Prints the table, and writes it where --json says."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.05, help="of measuring per figure")
    parser.add_argument("--json", help="where to write the rows")
    options = parser.parse_args()
    if not torch.cuda.is_available():
        print("gpu_torch.py: torch finds no CUDA device on this machine", file=sys.stderr)
        return 1
    print(f"# {torch.cuda.get_device_name()}, torch {torch.__version__}, {time.strftime('%Y-%m-%d')}")
    print(f"{'case':34} {'ingot us':>12} {'torch us':>12} {'times':>7} {'ingot host':>11} {'torch host':>11}")
    rows: list[dict] = []
    for dtype, name in ((torch.float32, "f32"), (torch.bfloat16, "bf16")):
        for shape in ((32, 1024), (4096, 4096), (32768, 8192)):
            rows += measure(f"{name} {shape[0]}x{shape[1]}", row_cases(*shape, dtype), options.seconds)
        rows += measure(f"{name} 8x32/8x8192x128", decode_cases(8192, dtype), options.seconds)
    rows += measure("f32 100 x 1M", adamw_cases(100, 1 << 20), options.seconds)
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(rows, file, indent=1)
    return 0


if __name__ == "__main__":
    sys.exit(main())
