// A position is an integer, or a vector of two or three of them.
// RUN: kernel=of_floats threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_position_type.metal:20:61: error: a kernel parameter must be ushort or uint, or a vector of 2 or 3 of them, to have [[thread_position_in_grid]]
// RUN: kernel=of_four threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_position_type.metal:21:58: error: a kernel parameter must be ushort or uint, or a vector of 2 or 3
// RUN: kernel=of_two threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_position_type.metal:22:57: error: a kernel parameter must be ushort or uint to have [[thread_index_in_simdgroup]]
// RUN: kernel=in_memory threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_position_type.metal:23:54: error: a kernel parameter with [[thread_position_in_grid]] is a value, and not in constant memory
#include <metal_stdlib>
using namespace metal;
kernel void of_floats(device float *x [[buffer(0)]], float3 i [[thread_position_in_grid]]) { x[0] = i.x; }
kernel void of_four(device float *x [[buffer(0)]], uint4 i [[thread_position_in_grid]]) { x[0] = i.x; }
kernel void of_two(device float *x [[buffer(0)]], uint2 i [[thread_index_in_simdgroup]]) { x[0] = i.x; }
kernel void in_memory(device float *x [[buffer(0)]], constant uint &i [[thread_position_in_grid]]) { x[0] = i; }
