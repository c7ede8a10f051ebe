#!/usr/bin/env python3
"""What the sanitizer costs: time and memory of the library's kernels with checks, against the same without.

    bench/sanitizer.py [--ingot BIN] [--kinds bounds --kinds default] [--type f32] [--all] [OPERATION]...

Each row runs in turns without checks and with each list of kinds, on one thread; a figure is the least processor time
of a launch that `ingot bench` saw. Without --all a row is an operation's case of the most bytes. The last lines are
geometric means, and what a run of `ingot run` on large buffers takes beside those buffers. Kernels with checks are
compiled once, which takes most of the first run's time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import resource
import subprocess
import sys
import tempfile

COPY = """
kernel void copy(device float *to [[buffer(0)]], const device float *from [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) { to[i] = from[i]; }
"""
MEGABYTES = 128  # of each of the two buffers


def bench(arguments: argparse.Namespace, operation: str, case: str, kinds: str) -> float:
    command = [arguments.ingot, "bench", operation, "--case", "=" + case, "--type", arguments.type, "--json"]
    command += ["--no-ceilings", "--threads", "1", "--time", str(arguments.time)]
    done = subprocess.run(command, env={**os.environ, "INGOT_SANITIZE": kinds}, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}:\n{done.stderr}")
    if kinds != "none" and done.stderr.strip():
        print(f"{operation} {case}: {done.stderr.splitlines()[0]}", file=sys.stderr)
    return min(row["processor_seconds"] for row in json.loads(done.stdout)["rows"])


def cases(arguments: argparse.Namespace) -> list[tuple[str, str]]:
    command = [arguments.ingot, "bench", *arguments.operations, "--list", "--json", "--type", arguments.type]
    rows = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)["rows"]
    if arguments.all:
        return [(row["operation"], row["case"]) for row in rows]
    largest: dict[str, dict] = {}
    for row in rows:
        if row["bytes"] > largest.get(row["operation"], {"bytes": -1})["bytes"]:
            largest[row["operation"]] = row
    return [(operation, row["case"]) for operation, row in largest.items()]


def peak_bytes(arguments: argparse.Namespace, source: str, elements: int, kinds: str) -> int:
    """The most memory that the process had: in a child of its own, whose children's peak is then that of one run."""
    buffer = f"f32[{elements}]"
    command = [arguments.ingot, "run", source, "copy", "--threads", str(elements), "--quiet", buffer, buffer]
    read, write = os.pipe()
    child = os.fork()
    if child == 0:
        done = subprocess.run(command, env={**os.environ, "INGOT_SANITIZE": kinds})
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
        os.write(write, f"{done.returncode} {peak}".encode())
        os._exit(0)
    os.waitpid(child, 0)
    status, peak = os.read(read, 100).decode().split()
    os.close(read)
    os.close(write)
    if status != "0":
        sys.exit(f"{' '.join(command)} ended with {status}")
    return int(peak)


def memory(arguments: argparse.Namespace) -> None:
    elements = MEGABYTES << 18
    with tempfile.TemporaryDirectory() as folder:
        source = os.path.join(folder, "copy.metal")
        with open(source, "w", encoding="utf-8") as file:
            file.write(COPY)
        for kinds in ["none", *arguments.kinds]:  # compiled here, not under the measure
            peak_bytes(arguments, source, 1024, kinds)
        plain = peak_bytes(arguments, source, elements, "none")
        for kinds in arguments.kinds:
            extra = peak_bytes(arguments, source, elements, kinds) - plain
            print(f"memory, {kinds}: {extra / (2 * MEGABYTES << 20):.2f} times the buffers, on top of them")


def mean(ratios: list[float]) -> float:
    return math.exp(sum(math.log(ratio) for ratio in ratios) / len(ratios))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("operations", nargs="*", metavar="OPERATION")
    parser.add_argument("--ingot", default="ingot", metavar="BIN")
    parser.add_argument("--kinds", action="append", metavar="LIST", help="such as bounds, or default; may be repeated")
    parser.add_argument("--type", default="f32")
    parser.add_argument("--time", type=float, default=0.1, metavar="SECONDS", help="how long each row is measured")
    parser.add_argument("--rounds", type=int, default=2, metavar="N", help="how often in turns")
    parser.add_argument("--all", action="store_true", help="every case, not one of each operation")
    parser.add_argument("--no-memory", action="store_true", help="leave out what memory it takes")
    arguments = parser.parse_args()
    arguments.kinds = arguments.kinds or ["bounds", "default"]
    ratios: dict[str, list[float]] = {kinds: [] for kinds in arguments.kinds}
    print("| operation | case | without, µs | " + " | ".join(arguments.kinds) + " |")
    print("|---|---|---|" + "---|" * len(arguments.kinds))
    for operation, case in cases(arguments):
        best = dict.fromkeys(["none", *arguments.kinds], math.inf)
        for _ in range(arguments.rounds):
            for kinds in best:
                best[kinds] = min(best[kinds], bench(arguments, operation, case, kinds))
        for kinds in arguments.kinds:
            ratios[kinds].append(best[kinds] / best["none"])
        shown = " | ".join(f"{ratios[kinds][-1]:.2f}" for kinds in arguments.kinds)
        print(f"| {operation} | {case} | {best['none'] * 1e6:.1f} | {shown} |", flush=True)
    for kinds in arguments.kinds:
        print(f"geometric mean, {kinds}: {mean(ratios[kinds]):.2f} over {len(ratios[kinds])} rows")
    if not arguments.no_memory:
        memory(arguments)


main()
