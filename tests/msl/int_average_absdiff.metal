// hadd, rhadd, absdiff without overflow.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[5]
// EXPECT 0: u32 [4294967294 4294967295 7 4294967295 5]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]]) {
    x[0] = hadd(0xffffffffu, 0xfffffffeu);
    x[1] = rhadd(0xffffffffu, 0xfffffffeu);
    x[2] = absdiff(3u, 10u);
    x[3] = absdiff(int(-2147483647 - 1), 2147483647);
    x[4] = rhadd(4u, 5u);
}
