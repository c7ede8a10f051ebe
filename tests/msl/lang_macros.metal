// __METAL_VERSION__ and friends, selected by an option.
// OPTIONS: define=EXTRA:5 define=FLAG
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[4]
// EXPECT 0: i32 [320 5 1 1]
// RUN: kernel=k threads=1 group=1
// OPTIONS: msl=310
// ARG 0: i32[4]
// EXPECT 0: i32 [310 5 1 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]]) {
    x[0] = __METAL_VERSION__;
    x[1] = EXTRA;
    x[2] = FLAG;
#ifdef __METAL__
    x[3] = 1;
#endif
}
