"""Matrix product by simdgroup_matrix: 8×8 tiles that a whole SIMD-group holds and multiplies.

A threadgroup of four SIMD-groups makes a block of 32×32 of the result, each SIMD-group a 16×16 part of four
tiles: per step of 8 along k it loads four tiles and does four multiply-adds. On Apple GPUs this is the matrix
hardware; ingot keeps the tiles in vector registers.

    python examples/python/simdgroup_matmul.py
"""
import time

import torch

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"
synchronize = torch.mps.synchronize if device == "mps" else ingot.synchronize

SOURCE = """
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void matmul(device float *c, device const float *a, device const float *b, constant long *size,  // m, n, k
                   uint2 block [[threadgroup_position_in_grid]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    long n = size[1], k = size[2];
    long row = block.y * 32 + simdgroup / 2 * 16, column = block.x * 32 + simdgroup % 2 * 16;
    simdgroup_float8x8 sums[2][2];
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);

    for (long step = 0; step < k; step += 8) {
        simdgroup_float8x8 left[2], right[2];
        for (int i = 0; i < 2; i++) {
            simdgroup_load(left[i], a + (row + 8 * i) * k + step, k);
            simdgroup_load(right[i], b + step * n + column + 8 * i, n);
        }
        for (int i = 0; i < 2; i++)
            for (int j = 0; j < 2; j++)
                simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
    }
    for (int i = 0; i < 2; i++)
        for (int j = 0; j < 2; j++)
            simdgroup_store(sums[i][j], c + (row + 8 * i) * n + column + 8 * j, n);
}
"""
kernel = ingot.compile_shader(SOURCE).matmul


def matmul(a: torch.Tensor, b: torch.Tensor) -> torch.Tensor:
    """a @ b for sizes that are multiples of 32 (m, n) and 8 (k): the kernel has no edge cases."""
    (m, k), n = a.shape, b.shape[1]
    if b.shape[0] != k or m % 32 or n % 32 or k % 8:
        raise ValueError(f"the kernel cannot multiply {tuple(a.shape)} and {tuple(b.shape)}")
    c = torch.empty(m, n, device=a.device)
    kernel(c, a.contiguous(), b.contiguous(), [m, n, k], threads=(n // 32 * 128, m // 32), group_size=(128, 1))
    return c


def best(function, *arguments) -> float:
    """The shortest of a few runs, in seconds."""
    times = []
    for _ in range(5):
        synchronize()
        start = time.perf_counter()
        function(*arguments)
        synchronize()
        times.append(time.perf_counter() - start)
    return min(times)


torch.manual_seed(0)
for m, n, k in ((32, 32, 8), (64, 96, 40), (512, 512, 512)):
    a, b = torch.randn(m, k, device=device), torch.randn(k, n, device=device)
    torch.testing.assert_close(matmul(a, b), a @ b, rtol=1e-4, atol=1e-3)
    print(f"{m}×{k} by {k}×{n}: as torch")

flops = 2 * 512**3
print(f"512³: {flops / best(matmul, a, b) / 1e9:.0f} GFLOP/s by the kernel, ", end="")
if device == "cpu":
    torch.testing.assert_close(ingot.ops.matmul(a, b), a @ b, rtol=1e-4, atol=1e-3)
    print(f"{flops / best(ingot.ops.matmul, a, b) / 1e9:.0f} by ingot.ops.matmul, ", end="")
print(f"{flops / best(torch.matmul, a, b) / 1e9:.0f} by torch")
