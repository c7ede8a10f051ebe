// A pointer among a kernel's parameters says in which memory it points.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_parameter_space.metal:9:20: error: a kernel parameter must be a built-in value with its attribute, such as [[thread_position_in_grid]], or a pointer or reference to device
#include <metal_stdlib>
using namespace metal;

kernel void k(int *x, uint i [[thread_position_in_grid]]) { x[i] = 1; }
