// Writing to a swizzle changes only those components.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32 [1 2 3 4 5 6 7 8]
// EXPECT 0: f32 [2 1 3 4 5 60 7 80]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float4 *x [[buffer(0)]]) {
    float4 v = x[0];
    v.xy = v.yx;
    x[0] = v;
    x[1].yw *= 10;
}
