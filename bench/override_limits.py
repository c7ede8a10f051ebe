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

torch.set_num_threads(options.threads)
import ingot  # noqa: E402
from ingot._overrides import control, measured  # noqa: E402, F401  control declares the groups
from ingot._overrides.limits import GROUPS  # noqa: E402
from torch_cases import MODULES  # noqa: E402

CASES = {name: case for module in MODULES if hasattr(module, "limits") for name, case in module.limits().items()}
EXTENTS = (64, 128, 256, 512)


# ---- measuring --------------------------------------------------------------------------------------------


def group_of(name: str) -> str | None:
    """None for what is no override, but measured for ingot.patch."""
    return next((group for group, names in GROUPS.items() if name in names), None)


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
    case = CASES[name]
    for dtype in case.types:
        shares = []
        for size in case.sizes:
            calls = case.make(dtype, 1 << size)
            shares.append(compare(name, *calls) if isinstance(calls, tuple) else compare(name, calls))
        say(name, dtype, case.sizes, shares)
        span = span_of(list(case.sizes), shares)
        if span:
            found[dtype] = span
    return found


def largest(name: str) -> int | None:
    """The largest matrix at which ingot wins; None where it wins at all, or at none."""
    shares = [compare(name, CASES[name].by_extent(extent)) for extent in EXTENTS]
    say(f"{name}, by extent", torch.float32, EXTENTS, shares)
    won = [extent for extent, share in zip(EXTENTS, shares) if share <= GAIN]
    return None if len(won) == len(shares) else max(won, default=32)


# ---- the file ---------------------------------------------------------------------------------------------

TEXT = '''"""Where ingot was measured to be faster than torch, by operator and type; made by bench/override_limits.py.

MEASURED has the (least, most) number of elements of the largest input. What is not listed was not
faster, or not measured, and stays with torch. Names with _direct are for calls without gradients.
Measured with torch {torch} and {threads} threads, {date}.
"""

from __future__ import annotations

import torch

__all__ = ["ANY", "LARGEST_MEASURED", "LEAST_RIGHT_SIDES", "MEASURED"]

ANY = 1 << 62
F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16

MEASURED: dict[str, dict[torch.dtype, tuple[int, int]]] = {{
{rows}
}}

# Matrices of more rows or columns than this stay with torch.
LARGEST_MEASURED = {largest}

# A triangular solve of fewer right sides than this stays with torch.
LEAST_RIGHT_SIDES = {right_sides}
'''


def file_text(spans: dict, extents: dict[str, int]) -> str:
    rows = []
    headings = {None: "for ingot.patch alone"}
    for name, found in sorted(spans.items(), key=lambda item: group_of(item[0]) or ""):
        heading, of = headings.get(group_of(name), group_of(name)), CASES[name].of
        heading += f": elements of {of}" if of else ""
        if f"    # {heading}" not in rows:
            rows.append(f"    # {heading}")
        cells = ", ".join(f"{'F32' if dtype == torch.float32 else 'BF16'}: ({least}, {most})"
                          for dtype, (least, most) in found.items())
        if cells:
            rows.append(f'    "{name}": {{{cells}}},')
    entries = ", ".join(f'"{name}": {extent}' for name, extent in extents.items())
    return TEXT.format(torch=torch.__version__, threads=options.threads, date=datetime.date.today(),
                       rows="\n".join(rows), largest=f"{{{entries}}}", right_sides=measured.LEAST_RIGHT_SIDES)


def main() -> None:
    torch.manual_seed(0)
    spans = {name: measure(name) for name in CASES if options.only in name}
    extents = {name: extent for name in spans if CASES[name].by_extent and spans[name]
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
