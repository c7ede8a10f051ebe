#!/usr/bin/env python3
"""ingot beside torch on shapes that nobody has chosen: rows drawn at random, compared and timed.

    bench/shapes.py --seed N --count M [--device cpu|cuda] [--only REGEX] [--json FILE]
    bench/shapes.py --seed N --count M --list           what would be measured

A row is an operation, a type and a shape; bench/shape_draws.py says what it is drawn from. Both sides compute it from
the same tensors, their results are compared, and they are timed in turns, with inputs rotated past the cache. On the
CPU both use --threads threads (1 unless told), and with one thread the processor's time counts, which other work on
the machine disturbs least. On a GPU torch's time is the better one of eager and torch.compile.

Printed: each row with torch's time over ingot's (above 1: ingot is faster), then for each family the geometric mean,
the 5th percentile and the worst row, and the ten worst rows with the variant of the kernel that ran. Exit status 1
when a result was wrong or a call failed.
"""
from __future__ import annotations

import argparse
import ctypes
import json
import math
import os
import pathlib
import re
import statistics
import sys
import time

CPU_LIMITS = 6e9, 192e6  # flops and bytes of a row, so that it takes seconds
GPU_LIMITS = 8e12, 6e9


def parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0], epilog=__doc__.split("\n\n", 1)[1],
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, required=True, help="of the draws")
    parser.add_argument("--count", type=int, default=300, help="of rows (300)")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--threads", type=int, default=1, help="of both sides, on the CPU (1)")
    parser.add_argument("--seconds", type=float, default=0.1, help="of measuring per row and side (0.1)")
    parser.add_argument("--only", default="", metavar="REGEX", help="rows whose family and text it finds")
    parser.add_argument("--max-flops", type=float, help=f"of a row (CPU {CPU_LIMITS[0]:g}, CUDA {GPU_LIMITS[0]:g})")
    parser.add_argument("--max-bytes", type=float, help=f"of a row (CPU {CPU_LIMITS[1]:g}, CUDA {GPU_LIMITS[1]:g})")
    parser.add_argument("--compile", action=argparse.BooleanOptionalAction, help="torch.compile too (on CUDA)")
    parser.add_argument("--json", help="where to write the rows")
    parser.add_argument("--list", action="store_true", help="print the rows and end")
    return parser.parse_args()


OPTIONS = parse_options()
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "build" / "python"))
from fair_process import start_fairly  # noqa: E402

if OPTIONS.device == "cpu" and not OPTIONS.list:
    start_fairly(OPTIONS.threads)

import torch  # noqa: E402

from gpu_torch import Clock, compiled_function, device_time, input_sets  # noqa: E402
from shape_case import FloatOperations, Maker  # noqa: E402
from shape_cases import cost, draw_rows, make_case  # noqa: E402
from shape_draws import Row  # noqa: E402


def last_variant():
    """What tells the key of the variant that the last operation ran."""
    import ingot._C
    function = ctypes.CDLL(ingot._C.__file__).ingot_ops_last_variant
    function.restype = ctypes.c_char_p
    return lambda: (function() or b"").decode()


def cpu_times(sides: list, sets: list[tuple], seconds: float, now) -> list[float]:
    """Milliseconds per call of each side: they take turns, and each figure is the median of its samples."""
    samples: list[list[float]] = [[] for _ in sides]
    for side in sides:  # warm
        side(*sets[0])
    number, started = 0, now()
    while len(samples[0]) < 3 or (now() - started < seconds * len(sides) and len(samples[0]) < 200):
        for times, side in zip(samples, sides):
            count, begun = 0, now()
            while count == 0 or now() - begun < 2e-3:
                side(*sets[number % len(sets)])
                number += 1
                count += 1
            times.append((now() - begun) / count * 1e3)
        if now() - started > 20:
            break
    return [statistics.median(times) for times in samples]


def measure(row: Row, clock: Clock, make: Maker, variant) -> dict:
    """A row of the result."""
    torch.manual_seed(OPTIONS.seed)
    case = make_case(make, row)
    sets = [case.make()] if case.sets == 1 else input_sets(case)
    result = case.ingot(*sets[0])
    ran = variant()
    difference = case.compare(result, case.torch(*sets[0]), *sets[0])
    if not difference <= case.limit:  # torch's own sums may be what is off
        with FloatOperations():
            difference = case.compare(result, case.torch(*sets[0]), *sets[0])
    del result
    found = {"family": row.family, "row": str(row), "variant": ran, "difference": difference,
             "right": difference <= case.limit, "bytes": case.bytes, "flops": case.flops}  # NaN is not right
    if OPTIONS.device == "cpu":
        now = time.process_time if OPTIONS.threads == 1 else time.perf_counter
        found["ingot_ms"], found["torch_ms"] = cpu_times([case.ingot, case.torch], sets, OPTIONS.seconds, now)
    else:
        for name, side in (("ingot_ms", case.ingot), ("torch_ms", case.torch)):
            found[name] = device_time(clock, lambda n, f=side: f(*sets[n % len(sets)]), OPTIONS.seconds)
    wants_compile = OPTIONS.device == "cuda" if OPTIONS.compile is None else OPTIONS.compile
    if case.compiled and wants_compile:
        function = compiled_function(case, sets[0])
        found["compiled_ms"] = device_time(clock, lambda n: function(*sets[n % len(sets)]), OPTIONS.seconds)
        found["torch_ms"] = min(found["torch_ms"], found["compiled_ms"])
    found["ratio"] = found["torch_ms"] / found["ingot_ms"]
    return found


def percentile(values: list[float], part: float) -> float:
    """By linear interpolation between the two nearest."""
    values = sorted(values)
    at = part * (len(values) - 1)
    low = math.floor(at)
    high = min(low + 1, len(values) - 1)
    return values[low] + (values[high] - values[low]) * (at - low)


def report(rows: list[dict]) -> None:
    """The distribution by families, and the worst rows."""
    families: dict[str, list[float]] = {}
    for row in rows:
        families.setdefault(row["family"], []).append(row["ratio"])
    print(f"\n{'family':34} {'rows':>5} {'geomean':>8} {'5th pct':>8} {'worst':>7}")
    for family, ratios in sorted(families.items()):
        mean = math.exp(statistics.fmean(map(math.log, ratios)))
        print(f"{family:34} {len(ratios):5} {mean:8.2f} {percentile(ratios, 0.05):8.2f} {min(ratios):7.2f}")
    print("\nthe worst rows, with the variant that ran")
    for row in sorted(rows, key=lambda r: r["ratio"])[:10]:
        print(f"{row['ratio']:7.2f}  {row['row']}\n         {row['variant']}")


def main() -> int:
    flops, size = CPU_LIMITS if OPTIONS.device == "cpu" else GPU_LIMITS
    flops, size = OPTIONS.max_flops or flops, OPTIONS.max_bytes or size
    only = re.compile(OPTIONS.only)

    def wanted(row: Row) -> bool:
        moved, computed = cost(row)
        return moved <= size and computed <= flops and bool(only.search(f"{row.family} {row}"))

    rows = draw_rows(OPTIONS.seed, OPTIONS.count, wanted)
    if OPTIONS.list:
        for row in rows:
            print(f"{row.family:34} {row}")
        return 0
    if not rows:
        print(f"shapes.py: --only {OPTIONS.only!r} finds no row within {flops:g} flops and {size:g} bytes",
              file=sys.stderr)
        return 2
    if OPTIONS.device == "cuda" and not torch.cuda.is_available():
        print("shapes.py: torch finds no CUDA device on this machine", file=sys.stderr)
        return 1
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.set_num_threads(OPTIONS.threads)
    clock, make, variant = Clock(OPTIONS.device), Maker(OPTIONS.device), last_variant()
    print(f"# seed {OPTIONS.seed}, {len(rows)} rows, {OPTIONS.device}, torch {torch.__version__}"
          + (f", {OPTIONS.threads} thread(s)" if OPTIONS.device == "cpu" else f", {torch.cuda.get_device_name()}"))
    print(f"{'times':>7} {'ingot ms':>10} {'torch ms':>10}  row")
    results, failed = [], 0
    for row in rows:
        try:
            found = measure(row, clock, make, variant)
        except torch.OutOfMemoryError:
            print(f"      -          -          -  {row}: more memory than there is, left out", flush=True)
            continue
        except (RuntimeError, ValueError, TypeError) as error:
            print(f"      -          -          -  {row}: FAILED: {str(error).splitlines()[0]}", flush=True)
            failed += 1
            continue
        results.append(found)
        print(f"{found['ratio']:7.2f} {found['ingot_ms']:10.4f} {found['torch_ms']:10.4f}  {row}"
              + ("" if found["right"] else f"  WRONG by {found['difference']:.2e}"), flush=True)
        if OPTIONS.json:
            with open(OPTIONS.json + ".part", "w", encoding="utf-8") as file:
                json.dump({"seed": OPTIONS.seed, "device": OPTIONS.device, "torch": torch.__version__,
                           "rows": results}, file, indent=1)
            os.replace(OPTIONS.json + ".part", OPTIONS.json)
    report(results)
    wrong = sum(not row["right"] for row in results)
    print(f"\n{len(results)} rows, {wrong} wrong, {failed} failed")
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    sys.exit(main())
