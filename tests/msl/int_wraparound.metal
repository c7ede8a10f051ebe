// Unsigned arithmetic wraps; signed shifts keep the sign.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[3]
// ARG 1: i32[2]
// EXPECT 0: u32 [4294967295 0 4294967290]
// EXPECT 1: i32 [-2 -1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], device int *y [[buffer(1)]]) {
    volatile uint zero = 0, max = 0xffffffff;
    volatile int minus = -8;
    x[0] = zero - 1;
    x[1] = max + 1;
    x[2] = max * 6;
    y[0] = minus >> 2;
    y[1] = minus >> 31;
}
