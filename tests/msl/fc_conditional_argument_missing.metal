// An argument that a constant makes active must be there.
// RUN: kernel=k threads=3 group=3
// CONST has_bias: bool = 1
// ARG 0: f32 [1 2 3]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: bias
#include <metal_stdlib>
using namespace metal;

constant bool has_bias [[function_constant(0)]];
kernel void k(device float *x [[buffer(0)]], device const float *bias [[buffer(1), function_constant(has_bias)]],
              uint i [[thread_position_in_grid]]) {
    if (has_bias)
        x[i] += bias[i];
}
