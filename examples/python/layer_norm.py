"""Layer norm of rows, with Welford's formula so that a large mean does not spoil the variance.

The sum of squares minus the square of the sum loses all digits when the mean is large against the spread.
Each thread keeps count, mean and squared distance of its stripe; simd_shuffle_xor joins the lanes pair by
pair, threadgroup memory the SIMD-groups.

    python examples/python/layer_norm.py
"""
import torch

import ingot

device = "mps" if torch.backends.mps.is_available() else "cpu"

SOURCE = """
#include <metal_stdlib>
using namespace metal;

struct moments { float count, mean, m2; };  // m2: the sum of squared distances from the mean

static moments join(moments a, moments b) {
    float count = a.count + b.count;
    if (count == 0)
        return {0, 0, 0};
    float delta = b.mean - a.mean;
    return {count, a.mean + delta * b.count / count, a.m2 + b.m2 + delta * delta * a.count * b.count / count};
}

static moments simd_join(moments m) {
    for (ushort step = 16; step > 0; step /= 2)
        m = join(m, {simd_shuffle_xor(m.count, step), simd_shuffle_xor(m.mean, step), simd_shuffle_xor(m.m2, step)});
    return m;
}

kernel void layer_norm(device float *out, device const float *in, device const float *weight,
                       device const float *bias, constant long &columns, constant float &eps,
                       uint row [[threadgroup_position_in_grid]],
                       uint thread_index [[thread_index_in_threadgroup]],
                       uint threads [[threads_per_threadgroup]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simdgroup [[simdgroup_index_in_threadgroup]],
                       uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup moments shared[32];
    device const float *x = in + row * columns;
    device float *y = out + row * columns;

    moments m = {0, 0, 0};
    for (long c = thread_index; c < columns; c += threads) {
        float delta = x[c] - m.mean;
        m.count += 1;
        m.mean += delta / m.count;
        m.m2 += delta * (x[c] - m.mean);
    }
    m = simd_join(m);
    if (lane == 0)
        shared[simdgroup] = m;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    moments none = {0, 0, 0};
    m = simd_join(lane < simdgroups ? shared[lane] : none);

    float scale = rsqrt(m.m2 / m.count + eps);
    for (long c = thread_index; c < columns; c += threads)
        y[c] = (x[c] - m.mean) * scale * weight[c] + bias[c];
}
"""
kernel = ingot.compile_shader(SOURCE).layer_norm


def layer_norm(x: torch.Tensor, weight: torch.Tensor, bias: torch.Tensor, eps: float = 1e-5,
               group: int = 128) -> torch.Tensor:
    """torch.nn.functional.layer_norm over the last dimension, by the kernel above."""
    x = x.contiguous()
    out = torch.empty_like(x)
    rows = x.numel() // x.shape[-1]
    kernel(out, x, weight, bias, x.shape[-1], eps, threads=rows * group, group_size=group)
    return out


torch.manual_seed(0)
for shape, mean in (((8, 768), 0.0), ((5, 1001), 3.0), ((2, 31), 1000.0)):
    x = torch.randn(shape, device=device) + mean
    weight, bias = torch.rand(shape[-1], device=device), torch.rand(shape[-1], device=device)
    exact = torch.nn.functional.layer_norm(x.cpu().double(), (shape[-1],), weight.cpu().double(),
                                           bias.cpu().double()).float().to(device)
    tolerance = {"rtol": 1e-5, "atol": 1e-5 + 1e-6 * mean}
    torch.testing.assert_close(layer_norm(x, weight, bias), exact, **tolerance)
    if device == "cpu":
        torch.testing.assert_close(ingot.ops.layer_norm(x, weight, bias), exact, **tolerance)
    error = (layer_norm(x, weight, bias) - exact).abs().max()
    print(f"{shape}, mean {mean:g}: the kernel is within {error:.1e} of double precision")
