// Shifts, bit operations and remainders on integer vectors.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[12]
// EXPECT 0: u32 [2 8 32 128 1 2 0 1 4294967294 4294967293 4294967292 4294967291]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint4 *x [[buffer(0)]]) {
    uint4 a(1, 2, 3, 4);
    x[0] = uint4(1, 2, 4, 8) << a;
    x[1] = a % 3;
    x[2] = ~a;
}
