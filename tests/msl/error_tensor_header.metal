// Nor are tensors and MetalPerformancePrimitives.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: MetalPerformancePrimitives and tensors are not supported
#include <metal_stdlib>
#include <metal_tensor>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; }
