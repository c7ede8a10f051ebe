// Sums of other types: half, ushort, long.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[3]
// EXPECT 0: f32 [496 496 496]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    half h = simd_sum(half(i));
    ushort s = simd_sum(ushort(i));
    int n = simd_sum(int(i));
    if (i == 0) {
        y[0] = h;
        y[1] = s;
        y[2] = n;
    }
}
