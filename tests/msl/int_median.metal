// median3, min3, max3.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[3]
// EXPECT 0: i32 [5 1 9]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]]) {
    x[0] = median3(9, 1, 5);
    x[1] = min3(9, 1, 5);
    x[2] = max3(9, 1, 5);
}
