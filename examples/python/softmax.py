"""Softmax of rows in one pass over the input: the online formula, which attention kernels use too.

A running maximum and a running sum are kept together; when the maximum grows, the sum so far is scaled down.
Rows of -infinity only give NaN in torch, and so they do here.

    python examples/python/softmax.py
"""
import torch

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"

SOURCE = """
#include <metal_stdlib>
using namespace metal;

// Joins (largest, sum) pairs: sum counts exp(x - largest).
static float2 join(float2 a, float2 b) {
    float largest = max(a.x, b.x);
    if (largest == -INFINITY)
        return float2(largest, 0);
    return float2(largest, a.y * exp(a.x - largest) + b.y * exp(b.x - largest));
}

kernel void softmax(device float *out, device const float *in, constant long &columns,
                    uint row [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_index_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float2 shared[32];
    device const float *x = in + row * columns;
    device float *y = out + row * columns;

    float2 state = float2(-INFINITY, 0);
    for (long c = thread_index; c < columns; c += threads)
        state = join(state, float2(x[c], 1));
    for (ushort step = 16; step > 0; step /= 2)
        state = join(state, float2(simd_shuffle_xor(state.x, step), simd_shuffle_xor(state.y, step)));
    if (lane == 0)
        shared[simdgroup] = state;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    state = lane < simdgroups ? shared[lane] : float2(-INFINITY, 0);
    for (ushort step = 16; step > 0; step /= 2)
        state = join(state, float2(simd_shuffle_xor(state.x, step), simd_shuffle_xor(state.y, step)));

    for (long c = thread_index; c < columns; c += threads)
        y[c] = exp(x[c] - state.x) / state.y;
}
"""
kernel = ingot.compile_shader(SOURCE).softmax


def softmax(x: torch.Tensor, group: int = 128) -> torch.Tensor:
    """torch.softmax over the last dimension, by the kernel above."""
    x = x.contiguous()
    out = torch.empty_like(x)
    rows = x.numel() // x.shape[-1]
    kernel(out, x, x.shape[-1], threads=rows * group, group_size=group)
    return out


torch.manual_seed(0)
cases = {
    "normal": torch.randn(64, 1000),
    "large": torch.randn(16, 333) * 1000,
    "masked": torch.randn(8, 64).masked_fill(torch.rand(8, 64) < 0.5, -torch.inf),
    "one column": torch.randn(5, 1),
    "all masked": torch.full((2, 40), -torch.inf),
}
for name, x in cases.items():
    x = x.to(device)
    torch.testing.assert_close(softmax(x), torch.softmax(x, -1), equal_nan=True)
    print(f"{name}: as torch")

if device == "cpu":
    # The library's operation takes scale, mask and causality into the same pass.
    scores = torch.randn(2, 50, 50)
    above = torch.ones(50, 50, dtype=torch.bool).triu(1)
    expected = torch.softmax((scores * 0.125).masked_fill(above, -torch.inf), -1)
    torch.testing.assert_close(ingot.ops.softmax(scores, scale=0.125, causal=True), expected)
    print("ingot.ops.softmax with scale and causal mask: as torch, without the intermediate tensors")
