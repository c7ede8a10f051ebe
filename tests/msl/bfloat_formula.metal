// bfloat arithmetic against rounding after each step.
// RUN: kernel=k threads=256 group=64
// ARG 0: bf16[256] = rand(3) * 8 - 4
// ARG 1: bf16[256] = rand(4) * 8 - 4
// ARG 2: bf16[256]
// EXPECT 2: bf16[256] = bf16(bf16(bf16(rand(3) * 8 - 4) * bf16(rand(4) * 8 - 4)) - bf16(rand(4) * 8 - 4))
#include <metal_stdlib>
using namespace metal;

#pragma METAL fp contract(off)
kernel void k(device const bfloat *a [[buffer(0)]], device const bfloat *b [[buffer(1)]], device bfloat *c [[buffer(2)]],
              uint i [[thread_position_in_grid]]) {
    bfloat product = a[i] * b[i];
    c[i] = product - b[i];
}
