// __FAST_MATH__ is defined under fast maths, and only then; a definition on the command line wins.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[2]
// EXPECT 0: i32 [-1 7]
// RUN: kernel=k threads=1 group=1
// OPTIONS: fast-math
// ARG 0: i32[2]
// EXPECT 0: i32 [1 7]
// RUN: kernel=k threads=1 group=1
// OPTIONS: fast-math define=__FAST_MATH__:0
// ARG 0: i32[2]
// EXPECT 0: i32 [0 7]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]]) {
#ifdef __FAST_MATH__
    x[0] = __FAST_MATH__;
#else
    x[0] = -1;
#endif
    x[1] = 7;
}
