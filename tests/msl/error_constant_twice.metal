// Two function constants of different types with one index.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// CONST 3: i32 = 1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_constant_twice.metal:11:16: error: b has function constant index 3, which a of another type has already: give each its own index
#include <metal_stdlib>
using namespace metal;

constant int a [[function_constant(3)]];
constant float b [[function_constant(3)]];
kernel void k(device float *x [[buffer(0)]]) { x[0] = a + b; }
