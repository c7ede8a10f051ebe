// There is no heap.
// RUN: kernel=k threads=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: 'new' is not part of the Metal language
// ARG 0: i32[1]
#include <metal_stdlib>
using namespace metal;
kernel void k(device int *x [[buffer(0)]]) {
    thread int *p = new int[4];
    x[0] = p[0];
}
