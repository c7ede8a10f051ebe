#!/usr/bin/env python3
"""ingot's operators on CUDA tensors against torch's, side by side in one process.

    python bench/gpu_torch.py [--seconds 0.05] [--json FILE] [--rows REGEX]
    python bench/gpu_torch.py --compile-only 1/4      fills torch.compile's cache with every fourth row, from the first
    python bench/gpu_torch.py --cpu                   small sizes on CPU tensors: tries the program, measures nothing

Every row is run by torch's operators, by torch.compile where the row is one of several operators or of one that it has
kernels for, and by ingot.ops, and the results are compared. Times are medians by events around batches of calls, whose
inputs are rotated past the cache and which are queued while the GPU is busy, so that the host's time does not count.
`host` is what a call takes until it has queued its work. bench/gpu_table.py makes a table in Markdown of FILE.
"""
from __future__ import annotations

import argparse
import json
import math
import re
import statistics
import sys
import time
from collections.abc import Callable, Iterable

import torch

from fair_process import settle_torch
from shape_case import Case, Maker
from shape_cases import shown_cases

CACHE_BYTES = 256 << 20  # what the inputs of a round exceed
MOST_SETS = 16
CYCLES_PER_SECOND = 2e9  # of the GPU, at least


class Clock:
    """Seconds of a batch of calls on the device of the tensors."""

    def __init__(self, device: str):
        self.cuda = device != "cpu"

    def wait(self) -> None:
        if self.cuda:
            torch.cuda.synchronize()

    def measure(self, call: Callable[[int], object], count: int, hidden: float) -> float:
        """Seconds of `count` calls; they are queued behind `hidden` seconds of other work."""
        if not self.cuda:
            started = time.perf_counter()
            for number in range(count):
                call(number)
            return time.perf_counter() - started
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda._sleep(int(hidden * CYCLES_PER_SECOND))
        first.record()
        for number in range(count):
            call(number)
        last.record()
        last.synchronize()
        return first.elapsed_time(last) / 1e3


def device_time(clock: Clock, call: Callable[[int], object], seconds: float) -> float:
    """Milliseconds per call: the median of batches, of a single one where a call takes long."""
    call(0)
    clock.wait()
    started = time.perf_counter()
    once = clock.measure(call, 1, 0)
    if once > 0.1:
        return once * 1e3
    count = max(1, min(20, int(2e-3 / once)))
    hidden = 2 * count * (time.perf_counter() - started)
    times = [clock.measure(call, count, hidden)]
    hidden = 1.5 * host_time(clock, call, 3, count) * count / 1e6 + 1e-4
    started, times = time.perf_counter(), []
    while len(times) < 5 or (time.perf_counter() - started < seconds and len(times) < 100):
        times.append(clock.measure(call, count, hidden) / count)
    return statistics.median(times) * 1e3


def host_time(clock: Clock, call: Callable[[int], object], rounds: int = 15, count: int = 5) -> float:
    """Microseconds until a call returns, with the GPU kept from falling behind."""
    times = []
    for _ in range(rounds):
        clock.wait()
        started = time.perf_counter()
        for number in range(count):
            call(number)
        times.append((time.perf_counter() - started) / count * 1e6)
    clock.wait()
    return statistics.median(times)


def input_sets(case: Case) -> list[tuple]:
    """As many inputs as do not fit into the cache."""
    sets = [case.make()]
    size = sum(tensor.numel() * tensor.element_size() for tensor in sets[0])
    count = case.sets or min(MOST_SETS, max(1, -(-CACHE_BYTES // size)))
    return sets + [case.make() for _ in range(count - 1)]


def compiled_function(case: Case, inputs: tuple) -> Callable[..., object]:
    """torch.compile's function, compiled."""
    torch._dynamo.reset()
    function = torch.compile(case.torch, dynamic=False)
    function(*inputs)
    return function


def measure_case(clock: Clock, case: Case, options: argparse.Namespace, compile_left: float) -> dict:
    """A row of the result; figures that are not there are None."""
    sets = input_sets(case)
    row = {"op": case.op, "shape": case.shape, "dtype": case.dtype, "bytes": case.bytes, "flops": case.flops,
           "eager_ms": None, "compiled_ms": None, "compile_s": 0.0}
    result, reference = case.ingot(*sets[0]), case.torch(*sets[0]) if case.torch else None
    row["difference"] = case.compare(result, reference, *sets[0])
    row["right"] = row["difference"] <= case.limit  # not for NaN
    del result, reference

    def rotated(function: Callable[..., object]) -> Callable[[int], object]:
        return lambda number: function(*sets[number % len(sets)])

    row["ingot_ms"] = device_time(clock, rotated(case.ingot), options.seconds)
    if case.torch:
        row["eager_ms"] = device_time(clock, rotated(case.torch), options.seconds)
    if case.compiled and compile_left > 0:
        started = time.perf_counter()
        try:
            function = compiled_function(case, sets[0])
            row["compile_s"] = time.perf_counter() - started
            row["compiled_ms"] = device_time(clock, rotated(function), options.seconds)
        except Exception as error:  # whatever torch.compile raises: the row is then eager's
            print(f"{case.op} {case.shape} {case.dtype}: torch.compile: {str(error).splitlines()[0][:200]}",
                  file=sys.stderr)
    if row["ingot_ms"] < 1:
        row["ingot_host_us"] = host_time(clock, rotated(case.ingot))
        if case.torch and row["eager_ms"] < 1:
            row["eager_host_us"] = host_time(clock, rotated(case.torch))
    return row


def print_row(row: dict) -> None:
    best = min((row[key] for key in ("eager_ms", "compiled_ms") if row[key]), default=math.nan)
    print(f"{row['op']:18} {row['dtype']:5} {row['shape']:27} {row['ingot_ms'] * 1e3:11.1f} {best * 1e3:11.1f} "
          f"{best / row['ingot_ms']:8.2f} {row.get('ingot_host_us', math.nan):7.1f} "
          f"{row.get('eager_host_us', math.nan):7.1f} {row['difference']:9.1e}{'' if row['right'] else ' WRONG'}",
          flush=True)


def copy_bandwidth(clock: Clock, make: Maker, seconds: float) -> float:
    """Bytes per nanosecond that a copy reads and writes."""
    size = 1 << 30 if clock.cuda else 1 << 24
    source = make.integers(256, size, dtype=torch.uint8)
    target = torch.empty_like(source)
    return 2 * size / device_time(clock, lambda number: target.copy_(source), seconds) / 1e6


def compile_only(part: str, cases: Iterable[Case], rows: re.Pattern) -> None:
    """Compiles a share of the rows, so that another process finds them in the cache."""
    first, step = (int(number) for number in part.split("/"))
    number, started = 0, time.perf_counter()
    for case in cases:
        if not case.compiled or not rows.search(f"{case.op} {case.dtype} {case.shape}"):
            continue
        number += 1
        if number % step != first % step:
            continue
        try:
            compiled_function(case, case.make())
        except Exception as error:  # the measuring process says so again
            print(f"{case.op} {case.shape}: {str(error).splitlines()[0][:200]}", file=sys.stderr)
    print(f"compiled part {part} of {number} rows in {time.perf_counter() - started:.1f} s")


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seconds", type=float, default=0.05, help="of measuring per figure")
    parser.add_argument("--json", help="where to write the rows")
    parser.add_argument("--rows", default="", help="a pattern of the rows to take, \"OP TYPE SHAPE\"")
    parser.add_argument("--compile-budget", type=float, default=90, help="seconds after which nothing is compiled")
    parser.add_argument("--compile-only", metavar="PART/PARTS", help="compile a share of the rows and end")
    parser.add_argument("--cpu", action="store_true", help="small sizes on CPU tensors")
    return parser.parse_args()


def main() -> int:
    """Prints the table, and writes it where --json says."""
    options = parse_options()
    settle_torch()
    if not options.cpu and not torch.cuda.is_available():
        print("gpu_torch.py: torch finds no CUDA device on this machine", file=sys.stderr)
        return 1
    torch.backends.cuda.matmul.allow_tf32 = False
    device = "cpu" if options.cpu else "cuda"
    clock, make = Clock(device), Maker(device)
    cases = shown_cases(make, options.cpu)
    rows = re.compile(options.rows)
    if options.compile_only:
        compile_only(options.compile_only, cases, rows)
        return 0
    started, left = time.perf_counter(), options.compile_budget
    result = {"copy_gbs": copy_bandwidth(clock, make, options.seconds), "torch": torch.__version__, "device": device,
              "gpu": None if options.cpu else torch.cuda.get_device_name(), "date": time.strftime("%Y-%m-%d"),
              "rows": []}
    print(f"# {result['gpu'] or 'CPU'}, torch {torch.__version__}, copy {result['copy_gbs']:.0f} GB/s")
    print(f"{'operation':18} {'type':5} {'shape':27} {'ingot us':>11} {'torch us':>11} {'times':>8} "
          f"{'host us':>7} {'torch':>7} {'differs':>9}")
    for case in cases:
        if not rows.search(f"{case.op} {case.dtype} {case.shape}"):
            continue
        row = measure_case(clock, case, options, left)
        left -= row["compile_s"]
        result["rows"].append(row)
        print_row(row)
        if options.json:
            with open(options.json, "w", encoding="utf-8") as file:
                json.dump(result, file, indent=1)
    wrong = sum(not row["right"] for row in result["rows"])
    print(f"{len(result['rows'])} rows, {wrong} wrong, {time.perf_counter() - started:.0f} s, of which "
          f"{options.compile_budget - left:.0f} s of torch.compile")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
