// mulhi, madhi, mad24, mul24.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[4]
// ARG 1: i32[2]
// EXPECT 0: u32 [1 4294967294 4 200]
// EXPECT 1: i32 [-1 0]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], device int *y [[buffer(1)]]) {
    x[0] = mulhi(0x80000000u, 2u);
    x[1] = mulhi(0xffffffffu, 0xffffffffu);
    x[2] = madhi(0x80000000u, 2u, 3u);
    x[3] = mad24(9u, 11u, 101u);
    y[0] = mulhi(-1, 1);
    y[1] = mulhi(1, 1);
}
