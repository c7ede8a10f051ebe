// A member of a structure for graphics may have a condition; the kernels beside it do not care.
// RUN: kernel=k threads=1
// CONST depth_only: bool = 1
// ARG 0: i32[1]
// EXPECT 0: i32 [7]
#include <metal_stdlib>
using namespace metal;

constant bool depth_only [[function_constant(3)]];
constant bool shaded = !depth_only;
struct Vertex {
    float4 position [[position]];
    float3 normal [[function_constant(shaded)]];
};

kernel void k(device int *out [[buffer(0)]]) { out[0] = shaded ? 1 : 7; }
