// bfloat keeps 8 bits: 256 + 1 is 256, ties go to even.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32 [256 257 258 259]
// ARG 1: bf16[4]
// ARG 2: bf16[4]
// EXPECT 1: bf16 [256 256 258 260]
// EXPECT 2: bf16 [256 256 260 260]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device bfloat *y [[buffer(1)]], device bfloat *z [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    y[i] = bfloat(x[i]);
    z[i] = y[i] + bfloat(i >= 2 ? 1.0f : 0.0f);
}
