// [[buffer]] is for device and constant memory, [[threadgroup]] for threadgroup memory.
// RUN: kernel=device_memory threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_attribute_space.metal:16:42: error: a kernel parameter must be in threadgroup memory to have [[threadgroup]]
// RUN: kernel=threadgroup_memory threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_attribute_space.metal:17:52: error: a kernel parameter must be in device or constant memory to have [[buffer]]
// RUN: kernel=both threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_attribute_space.metal:18:47: error: a kernel parameter has one index, but this one has [[buffer(0)]] and [[buffer(1)]]
#include <metal_stdlib>
using namespace metal;
kernel void device_memory(device float * x [[threadgroup(0)]]) { x[0] = 1; }
kernel void threadgroup_memory(threadgroup float * x [[buffer(0)]]) { x[0] = 1; }
kernel void both(device float *x [[buffer(0), buffer(1)]]) { x[0] = 1; }
