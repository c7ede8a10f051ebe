// Vectors of 16 bytes are one access, and no address is generic.
// WANT: ld\.global\.v4\.f32
// WANT: st\.global\.v4\.f32
// WANT: fma\.rn\.f32
// WANT: \.maxntid 256, 1, 1
// NEVER: ingot_log
// NEVER: ld\.(f32|b32|v4)
// NEVER: st\.(f32|b32|v4)
// NEVER: \.local
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(256)]]
kernel void stream(device const float4 *x, device float4 *y, uint i [[thread_position_in_grid]]) {
    y[i] = fma(x[i], 2.0f, y[i]);
}
