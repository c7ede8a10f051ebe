// 64-bit vectors.
// RUN: kernel=k threads=1 group=1
// ARG 0: i64[2]
// EXPECT 0: i64 [4294967296000 -4294967296000]
#include <metal_stdlib>
using namespace metal;

kernel void k(device long2 *x [[buffer(0)]]) { x[0] = long2(1, -1) * 4294967296000L; }
