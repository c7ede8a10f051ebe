#!/usr/bin/env python3
"""How the time to compile a kernel grows with its size: a series of generated kernels, a table and a plot.

    bench/compile_time.py [--ingotc PATH] [--target LEVEL] [--sizes N,N,…] [--out FOLDER]

A kernel is a sequence of small pieces on eight words of state, as hash functions, interpreters and generated code have
them: rounds of additions, rotations and exclusive ors, products of 64 bits, ifs, switches, loops, loads at indices that
depend on the data. A size is a number of instructions of the scalar kernel. For each: processor time of ingotc and of
all that it starts, less that of an empty kernel, and the steps that its passes count (--time-report). Ends with status
1 if the time to an instruction, from 10,000 instructions up, is more than 1.5 times the least of it.
Writes compile-time.md and compile-time.svg into FOLDER (bench/results).
"""

import argparse
import math
import os
import re
import resource
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SIZES = [1000, 3000, 10000, 30000, 100000, 200000]
LEAST = 10000  # below, the start of programs is too much of the time
LINEAR = 1.5


def piece(n):
    a, b, c, d = (n * 5 + 1) % 8, (n * 3 + 2) % 8, (n * 7 + 4) % 8, (n + 5) % 8
    b, c, d = (b + (b == a)) % 8, c, d
    kind = n % 8
    if kind in (0, 3, 5):
        return "".join(
            f"s{x} += s{y} ^ {n * 2654435761 % 2**32}u; s{z} = rotate(s{z} ^ s{x}, {r}u);\n"
            for x, y, z, r in ((a, b, c, 7), (c, d, a, 12), (b, a, d, 16), (d, c, b, 8))
        )
    if kind == 1:
        return f"if (s{a} & {1 << n % 30}u) {{ s{b} += s{c} * {2 * n + 1}u; s{d} ^= s{a} >> 3; }}\n"
    if kind == 2:
        return f"s{a} += mulhi(s{b}, s{c}) ^ (s{b} * s{c}); s{d} = s{d} * s{a} + mulhi(s{a}, s{d} | {n}u);\n"
    if kind == 4:
        cases = "".join(f"case {k}: s{a} = {n * (k + 3) % 65536}u; s{b} ^= s{c} << {k + 1}; break;\n" for k in range(4))
        return f"switch (s{d} & 7u) {{\n{cases}default: s{a} = 0; s{c} += s{d}; }}\n"
    if kind == 6:
        return f"for (uint i = 0; i < (s{a} & 3u); i++) {{ s{b} = s{b} * 5u + data[(s{c} + i) & 1023u]; }}\n"
    return f"s{a} ^= data[s{b} & 1023u]; out[id * 8u + {n % 8}u] = s{c} + s{a};\n"


def source(pieces):
    words = range(8)
    return (
        "#include <metal_stdlib>\nusing namespace metal;\n"
        "kernel void k(device const uint *data [[buffer(0)]], device uint *out [[buffer(1)]],\n"
        "              uint id [[thread_position_in_grid]]) {\n"
        + "".join(f"uint s{w} = data[(id + {w}u) & 1023u];\n" for w in words)
        + "".join(piece(n) for n in range(pieces))
        + "out[id * 8u] = "
        + " ^ ".join(f"s{w}" for w in words)
        + ";\n}\n"
    )


def measure(given, pieces):
    """Processor seconds, instructions of the scalar kernel, steps by pass."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "k.metal")
        with open(path, "w", encoding="utf-8") as file:
            file.write(source(pieces))
        command = [given.ingotc, path, "-o", os.path.join(folder, "k.ingot"), "--target", given.target, "--time-report"]
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        env = dict(os.environ, INGOT_COMPILE_SECONDS="3600")
        done = subprocess.run(command, capture_output=True, text=True, env=env)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(f"{pieces} pieces: {done.stderr.strip()}")
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    steps = {name: int(count) for name, count in re.findall(r"x  ([a-z -]+), (\d+) steps", done.stderr)}
    return seconds, steps.pop("choose-versions"), steps


def plot(rows):
    """Time against size, both by powers of ten, and the line of the same time to an instruction."""
    width, height, left, bottom = 560, 360, 60, 40

    def x(size):
        return left + (math.log10(size) - 3) / 2.5 * (width - left - 20)

    def y(seconds):
        return height - bottom - (math.log10(max(seconds, 0.01)) + 2) / 4 * (height - bottom - 20)

    parts = [
        '<svg xmlns="http://www.w3.org/2000/svg" '
        f'viewBox="0 0 {width} {height}" font-family="sans-serif" font-size="11">',
        f'<rect width="{width}" height="{height}" fill="white"/>',
    ]
    for size in (1000, 10000, 100000):
        parts.append(f'<path d="M{x(size):.0f} 20V{height - bottom}" stroke="#ddd"/>')
        parts.append(f'<text x="{x(size):.0f}" y="{height - bottom + 16}" text-anchor="middle">{size:,}</text>')
    for seconds in (0.01, 0.1, 1, 10, 100):
        parts.append(f'<path d="M{left} {y(seconds):.0f}H{width - 20}" stroke="#ddd"/>')
        parts.append(f'<text x="{left - 6}" y="{y(seconds) + 4:.0f}" text-anchor="end">{seconds:g} s</text>')
    large = [r for r in rows if r[0] >= LEAST] or rows
    each = min(r[1] / r[0] for r in large)
    ends = (rows[0][0], rows[-1][0])
    for factor, dash in ((1, ""), (LINEAR, "4 4")):
        line = "L".join(f"{x(size):.1f} {y(size * each * factor):.1f}" for size in ends)
        parts.append(f'<path d="M{line}" stroke="#999" stroke-dasharray="{dash}"/>')
    points = "L".join(f"{x(r[0]):.1f} {y(r[1]):.1f}" for r in rows)
    parts.append(f'<path d="M{points}" stroke="#06c" stroke-width="2" fill="none"/>')
    parts += [f'<circle cx="{x(r[0]):.1f}" cy="{y(r[1]):.1f}" r="3" fill="#06c"/>' for r in rows]
    parts.append(
        f'<text x="{width / 2}" y="{height - 6}" text-anchor="middle">instructions of the scalar kernel</text>'
    )
    return "\n".join(parts) + "\n</svg>\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ingotc", default=os.path.join(ROOT, "build/bin/ingotc"))
    parser.add_argument("--target", default="x86-64-v4")
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--out", default=os.path.join(ROOT, "bench/results"))
    given = parser.parse_args()
    measure(given, 0)  # the prelude's precompiled header is made once
    start, none, _ = measure(given, 0)
    _, some, _ = measure(given, 64)
    per_piece = (some - none) / 64
    rows = []
    for size in map(int, given.sizes.split(",")):
        seconds, instructions, steps = measure(given, max(1, round(size / per_piece)))
        rows.append((instructions, seconds - start, steps))
        each = 1e6 * (seconds - start) / instructions
        print(f"{instructions} instructions: {seconds - start:.2f} s, {each:.0f} µs each,", steps, flush=True)
    large = [1e6 * r[1] / r[0] for r in rows if r[0] >= LEAST]
    spread = max(large) / min(large) if large else 1
    os.makedirs(given.out, exist_ok=True)
    with open(os.path.join(given.out, "compile-time.md"), "w", encoding="utf-8") as file:
        file.write(
            "# Time to compile against size\n\n"
            f"Written by `bench/compile_time.py`, for {given.target}. Processor time of ingotc and of what it starts,\n"
            "less that of an empty kernel.\n\n| instructions | seconds | µs each | steps |\n|---|---|---|---|\n"
        )
        for size, seconds, steps in rows:
            text = ", ".join(f"{name} {count:,}" for name, count in steps.items())
            file.write(f"| {size:,} | {seconds:.2f} | {1e6 * seconds / size:.0f} | {text} |\n")
        file.write(f"\nFrom {LEAST:,} instructions up the time to each differs by a factor of {spread:.2f}.\n\n")
        file.write("![time against size](compile-time.svg)\n")
    with open(os.path.join(given.out, "compile-time.svg"), "w", encoding="utf-8") as file:
        file.write(plot(rows))
    print(f"from {LEAST} instructions up: a factor of {spread:.2f}; at most {LINEAR} is linear")
    return spread > LINEAR


if __name__ == "__main__":
    sys.exit(main())
