// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32] = (i * 7) % 32 - 10
// ARG 1: i32[3]
// EXPECT 1: i32 [-10 21 1024]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[0] = simd_min(x[i]);
    y[1] = simd_max(x[i]);
    y[2] = simd_product(i % 3 == 0 && i < 30 ? 2 : 1);
}
