// The version of the language that the caller chose; 3.2 unless told.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[2]
// EXPECT 0: i32 [320 1]
//
// RUN: kernel=k threads=1 group=1
// OPTIONS: msl=300
// ARG 0: i32[2]
// EXPECT 0: i32 [300 0]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]]) {
    x[0] = __METAL_VERSION__;
#if __METAL_VERSION__ >= 320
    x[1] = 1;
#else
    x[1] = 0;
#endif
}
