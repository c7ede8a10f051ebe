// half with a float is float; half with an int literal stays half.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[3]
// EXPECT 0: u32 [4 2 2]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]]) {
    half h = 1;
    x[0] = sizeof(h * 1.0f);
    x[1] = sizeof(h * 2);
    x[2] = sizeof(h + h);
}
