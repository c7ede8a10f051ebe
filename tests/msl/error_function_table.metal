// Visible functions are not there.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: visible functions are not supported
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], visible_function_table<float(float)> table [[buffer(1)]]) {
    x[0] = table[0](x[0]);
}
