"""What a call of a kernel costs from Python, on top of the kernel.

    python bench/python_overhead.py [--repeats N]

Each row is the shortest of many runs, in microseconds per call, for a kernel of one thread that does nothing else:
so a row is all of Python, the extension, and launching and waiting in libingot.
"""
from __future__ import annotations

import argparse
import time

import numpy as np

import ingot

SOURCE = """
kernel void none(uint i [[thread_position_in_grid]]) {}
kernel void one(device float* a) { a[0] = 1; }
kernel void four(device float* a, device const float* b, constant float& s, constant uint& n) { a[0] = b[0] * s + n; }
kernel void eight(device float* a, device const float* b, device const float* c, device const float* d,
                  constant float& s, constant float& t, constant uint& n, constant uint& m) {
    a[0] = b[0] * s + c[0] * t + d[0] + n + m;
}
"""


def best(call, repeats: int, calls: int = 200) -> float:
    """Microseconds per call: the shortest of `repeats` runs."""
    shortest = float("inf")
    for _ in range(repeats):
        start = time.perf_counter()
        for _ in range(calls):
            call()
        shortest = min(shortest, time.perf_counter() - start)
    return shortest / calls * 1e6


def rows(make) -> dict:
    """The calls that are measured, on four arrays of `make`."""
    lib = ingot.compile_shader(SOURCE)
    a, b, c, d = (make(16) for _ in range(4))
    return {
        "no arguments": lambda: lib.none(threads=1),
        "1 array": lambda: lib.one(a, threads=1),
        "2 arrays, 2 numbers": lambda: lib.four(a, b, 2.0, 3, threads=1),
        "4 arrays, 4 numbers": lambda: lib.eight(a, b, c, d, 2.0, 1.0, 3, 4, threads=1),
        "2 arrays, 2 numbers, group_size, casts": lambda: lib.four(
            a, b, 2.0, 3, threads=(1, 1), group_size=(1, 1), arg_casts={3: "int32"}
        ),
        "2 arrays, 2 numbers, queued": lambda: lib.four(a, b, 2.0, 3, threads=1, wait=False),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=50)
    repeats = parser.parse_args().repeats
    kinds = {"NumPy": lambda n: np.ones(n, np.float32)}
    try:
        import torch

        kinds["torch"] = lambda n: torch.ones(n)
        x, y = torch.ones(1), torch.ones(1)
        print(f"torch.add of one element, for comparison: {best(lambda: torch.add(x, y), repeats):.2f} us\n")
    except ImportError:
        print("no torch here: NumPy only")
    print(f"{'':48}{'us per call':>12}")
    for kind, make in kinds.items():
        for name, call in rows(make).items():
            call()
            print(f"{kind + ': ' + name:48}{best(call, repeats):12.2f}")
        ingot.synchronize()


if __name__ == "__main__":
    main()
