// simd_and, simd_or, simd_xor.
// RUN: kernel=k threads=32 group=32
// ARG 0: u32[3]
// EXPECT 0: u32 [256 287 0]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *y [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    y[0] = simd_and(i | 256u);
    y[1] = simd_or(i | 256u);
    y[2] = simd_xor(i);
}
