// RUN: kernel=k threads=1 group=1
// CONST 7: u32 = 4000000000
// CONST 3: i16 = -5
// ARG 0: i64[1]
// EXPECT 0: i64 [3999999995]
#include <metal_stdlib>
using namespace metal;

constant uint big [[function_constant(7)]];
constant short small [[function_constant(3)]];
kernel void k(device long *x [[buffer(0)]]) { x[0] = long(big) + small; }
