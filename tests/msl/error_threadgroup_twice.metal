// Two threadgroup arguments with one index.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_threadgroup_twice.metal:10:34: error: b of kernel "k" has [[threadgroup(0)]], which a has already
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], threadgroup float *a [[threadgroup(0)]],
              threadgroup float *b [[threadgroup(0)]]) {
    a[0] = 1;
    b[0] = 2;
    x[0] = a[0] + b[0];
}
