// An error about a function of the library says what does not fit.
// RUN: kernel=k threads=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: no viable overloaded '=': no known conversion from 'float3' to 'const float4' for 1st argument
// ARG 0: f32[4]
#include <metal_stdlib>
using namespace metal;
kernel void k(device float4 *x [[buffer(0)]]) { x[0] = float3(1); }
