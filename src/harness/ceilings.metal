// What a device can do at best: bytes copied and multiply-adds per second. The number of
// independent sums that keeps the arithmetic units busy differs between devices, so there are
// several kernels and the best one counts.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"

kernel void ceiling_copy(device const float4 *from [[buffer(0)]],
                         device float4 *to [[buffer(1)]],
                         uint i [[thread_position_in_grid]]) {
    to[i] = from[i];
}

template <int N>
kernel void ceiling_fma(device float *out [[buffer(0)]],
                        constant float2 &factors [[buffer(1)]],
                        constant uint &rounds [[buffer(2)]],
                        uint i [[thread_position_in_grid]]) {
    float sums[N];
    for (int k = 0; k < N; k++)
        sums[k] = float(i + k);
    for (uint round = 0; round < rounds; round++)
        for (int repeat = 0; repeat < 4; repeat++)
            for (int k = 0; k < N; k++)
                sums[k] = fma(sums[k], factors.x, factors.y);
    float total = 0;
    for (int k = 0; k < N; k++)
        total += sums[k];
    out[i] = total;
}
INSTANTIATE_KERNEL("ceiling_fma_2", ceiling_fma<2>)
INSTANTIATE_KERNEL("ceiling_fma_3", ceiling_fma<3>)
INSTANTIATE_KERNEL("ceiling_fma_6", ceiling_fma<6>)
INSTANTIATE_KERNEL("ceiling_fma_12", ceiling_fma<12>)
