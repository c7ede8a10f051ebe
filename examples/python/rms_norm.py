"""RMS norm of rows: one threadgroup for a row, SIMD-group sums joined through threadgroup memory.

The pattern of most reductions: every thread sums a stripe of the row, simd_sum joins 32 lanes, a small array
in threadgroup memory and one barrier join the SIMD-groups.

    python examples/python/rms_norm.py
"""
import torch

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"

SOURCE = """
#include <metal_stdlib>
using namespace metal;

template <typename T>
[[kernel]] void rms_norm(device T *out, device const T *in, device const T *weight, constant long &columns,
                         constant float &eps,
                         uint row [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]],
                         uint threads [[threads_per_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]],
                         uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float sums[32];
    device const T *x = in + row * columns;
    device T *y = out + row * columns;

    float sum = 0;  // in float, whatever T is
    for (long c = thread_index; c < columns; c += threads)
        sum += float(x[c]) * float(x[c]);
    sum = simd_sum(sum);
    if (lane == 0)
        sums[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);  // outside of any branch: all threads come here
    sum = simd_sum(lane < simdgroups ? sums[lane] : 0.0f);

    float scale = rsqrt(sum / columns + eps);
    for (long c = thread_index; c < columns; c += threads)
        y[c] = T(float(x[c]) * scale * float(weight[c]));
}

#define INSTANTIATE(T) template [[host_name("rms_norm_" #T)]] [[kernel]] void rms_norm<T>( \
    device T *, device const T *, device const T *, constant long &, constant float &, \
    uint, uint, uint, uint, uint, uint);
INSTANTIATE(float)
INSTANTIATE(half)
INSTANTIATE(bfloat)
"""
library = ingot.compile_shader(SOURCE)
KERNELS = {torch.float32: library.rms_norm_float, torch.float16: library.rms_norm_half,
           torch.bfloat16: library.rms_norm_bfloat}


def rms_norm(x: torch.Tensor, weight: torch.Tensor, eps: float = 1e-6, group: int = 256) -> torch.Tensor:
    """torch.nn.functional.rms_norm over the last dimension, by the kernel above."""
    x = x.contiguous()
    out = torch.empty_like(x)
    rows = x.numel() // x.shape[-1]
    KERNELS[x.dtype](out, x, weight, x.shape[-1], eps, threads=rows * group, group_size=group)
    return out


torch.manual_seed(0)
for dtype in (torch.float32, torch.float16, torch.bfloat16):
    for shape in ((4, 4096), (3, 7, 1000), (1, 33)):
        x = torch.randn(shape, device=device).to(dtype)
        weight = torch.rand(shape[-1], device=device).to(dtype)
        expected = torch.nn.functional.rms_norm(x.float(), (shape[-1],), weight.float(), 1e-6).to(dtype)
        torch.testing.assert_close(rms_norm(x, weight), expected)
        if device == "cpu":
            torch.testing.assert_close(ingot.ops.rms_norm(x, weight, eps=1e-6), expected)
    print(f"{dtype}: the kernel agrees with torch on three shapes" + (", and so does ingot.ops" * (device == "cpu")))
