// half arithmetic against rounding after each step, for many values.
// RUN: kernel=k threads=256 group=64
// ARG 0: f16[256] = rand(1) * 8 - 4
// ARG 1: f16[256] = rand(2) * 8 - 4
// ARG 2: f16[256]
// EXPECT 2: f16[256] = f16(f16(f16(rand(1) * 8 - 4) * f16(rand(2) * 8 - 4)) + f16(rand(1) * 8 - 4))
#include <metal_stdlib>
using namespace metal;

#pragma METAL fp contract(off)
kernel void k(device const half *a [[buffer(0)]], device const half *b [[buffer(1)]], device half *c [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    half product = a[i] * b[i];
    c[i] = product + a[i];
}
