// A kernel takes no structs by value.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_parameter_by_value.metal:12:49: error: a kernel parameter must be a built-in value
#include <metal_stdlib>
using namespace metal;

struct Size {
    int n;
};
kernel void k(device int *x [[buffer(0)]], Size size [[buffer(1)]]) { x[0] = size.n; }
