// RUN: kernel=k threads=1 group=1
// ARG 0: u32[4]
// EXPECT 0: u32 [5 3 1 2147483648]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]]) {
    x[0] = abs(-5);
    x[1] = rotate(0x80000001u, 1u);
    x[2] = rotate(0x80000000u, 1u);
    x[3] = rotate(1u, 31u);
}
