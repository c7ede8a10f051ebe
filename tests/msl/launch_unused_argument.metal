// Arguments that the code never reads need not be bound.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32[4]
// EXPECT 0: f32 [0 2 4 6]
#include <metal_stdlib>
using namespace metal;

template <bool with_bias>
void add(device float *x, const device float *bias, float scale, uint i) {
    x[i] = 2 * i;
    if (with_bias)
        x[i] += scale * bias[i];
}

kernel void k(device float *x [[buffer(0)]], const device float *bias [[buffer(1)]],
              constant float &scale [[buffer(2)]], threadgroup char *scratch [[threadgroup(0)]],
              uint i [[thread_position_in_grid]]) {
    (void)scratch;
    add<false>(x, bias, scale, i);
}
