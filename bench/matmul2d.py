#!/usr/bin/env python3
"""matmul2d beside simdgroup_matrix on the CPU, with the same tiles: processor time of a launch.

usage: matmul2d.py [INGOT] [SIZE]   (build/bin/ingot, 1024)
"""

import pathlib
import resource
import subprocess
import sys

TYPES = {"float": "f32", "half": "f16", "bfloat": "bf16"}


def spent(ingot, kernel, short, size, launches):
    """The processor time of a run."""
    source = pathlib.Path(__file__).with_name("matmul2d.metal")
    square = f"[{size},{size}]"
    command = [ingot, "run", source, kernel, "--quiet", "--threadgroups", f"{size // 64},{size // 64}"]
    command += ["--group", "128", "--time", "--repeat", str(launches), short + square, short + square, "f32" + square]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run([*command, f"u32:{size}"], stdout=subprocess.DEVNULL, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def seconds(ingot, kernel, short, size):
    """The least processor time of a launch: many less one, so that nothing else is in it."""
    spent(ingot, kernel, short, size, 1)  # compiles
    return min(
        (spent(ingot, kernel, short, size, 11) - spent(ingot, kernel, short, size, 1)) / 10 for _ in range(5)
    )


def main():
    ingot = sys.argv[1] if len(sys.argv) > 1 else "build/bin/ingot"
    size = int(sys.argv[2]) if len(sys.argv) > 2 else 1024
    print("elements  simdgroup_matrix ms  matmul2d ms  GFLOP per processor second")
    for name, short in TYPES.items():
        tiles, products = (seconds(ingot, f"{way}_{name}", short, size) for way in ("tiles", "products"))
        print(f"{name:8}  {tiles * 1e3:19.1f}  {products * 1e3:11.1f}  {2 * size**3 / products / 1e9:.1f}")


if __name__ == "__main__":
    main()
