#!/usr/bin/env python3
"""matmul2d of bfloat beside torch.matmul on an NVIDIA GPU: bench/matmul2d_gpu.metal, square matrices.

usage: matmul2d_gpu.py ARCHIVE [SIZE...]   (4096 8192)

ARCHIVE is what `ingot pack bench/matmul2d_gpu.metal --msl-version 4.0 --target sm_90a -o ARCHIVE` writes. Launches
of both take turns; of each the least time of a turn counts.
"""

import sys

import torch

import ingot

TURNS, LAUNCHES = 6, 12


def turn(act):
    """Milliseconds of a launch."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    for _ in range(LAUNCHES):
        act()
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / LAUNCHES


def compare(kernel, size):
    a, b = (torch.randn(size, size, device="cuda").bfloat16() for _ in range(2))
    c, expected = torch.zeros_like(a), torch.zeros_like(a)

    def ours():
        kernel(a, b, c, threads=[(size + 255) // 256 * 256, (size + 127) // 128, 1], group_size=[256, 1, 1])

    def theirs():
        torch.matmul(a, b, out=expected)

    times = [(turn(theirs), turn(ours)) for _ in range(TURNS)]
    torch_time, own_time = (min(column) for column in zip(*times, strict=True))
    wrong = (c.float() - expected.float()).abs().max() / expected.float().abs().max()
    print(
        f"{size}: torch {torch_time:.3f} ms {2e-9 * size**3 / torch_time:.0f} TFLOP/s, "
        f"matmul2d {own_time:.3f} ms {2e-9 * size**3 / own_time:.0f} TFLOP/s, "
        f"{torch_time / own_time:.3f} of torch, largest difference {wrong:.1e} of the largest value"
    )


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    kernel = ingot.load_metallib(sys.argv[1])["multiply"]
    for size in [int(word) for word in sys.argv[2:]] or [4096, 8192]:
        compare(kernel, size)


if __name__ == "__main__":
    main()
