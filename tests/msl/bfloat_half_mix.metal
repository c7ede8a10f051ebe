// half and bfloat meet through float.
// RUN: kernel=k threads=2 group=2
// ARG 0: f16 [1.5 2.5]
// ARG 1: bf16 [2 4]
// ARG 2: f32[2]
// ARG 3: bf16[2]
// EXPECT 2: f32 [3 10]
// EXPECT 3: bf16 [1.5 2.5]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const half *h [[buffer(0)]], device const bfloat *b [[buffer(1)]], device float *y [[buffer(2)]],
              device bfloat *z [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    y[i] = float(h[i]) * float(b[i]);
    z[i] = static_cast<bfloat>(h[i]);
}
