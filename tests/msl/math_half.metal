// half functions round the true result.
// RUN: kernel=k threads=64 group=64
// ARG 0: f16[64] = rand(11) * 4 + 0.5
// ARG 1: f16[64]
// ARG 2: f16[64]
// EXPECT 1: f16[64] = exp(f16(rand(11) * 4 + 0.5)) ; ulp=1
// EXPECT 2: f16[64] = sqrt(f16(rand(11) * 4 + 0.5)) ; ulp=1
#include <metal_stdlib>
using namespace metal;

kernel void k(device const half *x [[buffer(0)]], device half *y [[buffer(1)]], device half *z [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    y[i] = exp(x[i]);
    z[i] = sqrt(x[i]);
}
