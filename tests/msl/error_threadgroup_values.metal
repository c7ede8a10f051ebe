// Threadgroup memory holds nothing in particular when a kernel starts.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_threadgroup_values.metal:10:29: error: an array in threadgroup memory cannot have initial values
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup int table[] = {1, 2, 3};
    x[i] = table[i];
}
