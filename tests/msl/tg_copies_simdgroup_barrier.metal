// Copies into threadgroup memory that a barrier of the threadgroup orders, with one of the SIMD-group right behind it:
// no SIMD-group reads what another has not yet waited for.
// RUN: kernel=reverse threads=256 group=128
// ARG 0: f32[1024] = i
// ARG 1: f32[256]
// EXPECT 1: f32[256] = idiv(i, 128) * 2048 + 1276 - 4 * (i % 128)
#include <metal_stdlib>
using namespace metal;

kernel void reverse(device const float *in, device float *out, uint t [[thread_position_in_threadgroup]],
                    uint group [[threadgroup_position_in_grid]]) {
    threadgroup float tile[128];
    float sum = 0;
    for (uint step = 0; step < 4; step++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        tile[t] = in[group * 512 + step * 128 + t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_barrier(mem_flags::mem_none);
        sum += tile[127 - t];
    }
    out[group * 128 + t] = sum;
}
