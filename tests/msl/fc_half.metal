// RUN: kernel=k threads=1 group=1
// CONST h: f16 = 1.5
// CONST c: u8 = 200
// ARG 0: f32[2]
// EXPECT 0: f32 [1.5 200]
#include <metal_stdlib>
using namespace metal;

constant half h [[function_constant(0)]];
constant uchar c [[function_constant(1)]];
kernel void k(device float *x [[buffer(0)]]) {
    x[0] = h;
    x[1] = c;
}
