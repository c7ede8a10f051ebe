// 4×4 product and transpose.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[16] = i
// ARG 1: f32[16]
// ARG 2: f32[16]
// EXPECT 1: f32[16] = sum(j, 0, 4, (4 * j + i % 4) * (4 * idiv(i, 4) + j))
// EXPECT 2: f32[16] = 4 * (i % 4) + idiv(i, 4)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float4x4 *a [[buffer(0)]], device float4x4 *b [[buffer(1)]], device float4x4 *c [[buffer(2)]]) {
    b[0] = a[0] * a[0];
    c[0] = transpose(a[0]);
}
