// A function that is only declared: Metal would link it from another file.
// RUN: kernel=k threads=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_undefined_function.metal:14:55: error: 'Grid': declared, but defined nowhere: include the file that defines it
// ARG 0: f32[1]
#include <metal_stdlib>
using namespace metal;

struct Grid {
    Grid(device float *data, float3 size);
    float first;
};

kernel void k(device float *x [[buffer(0)]]) { x[0] = Grid(x, float3(1)).first; }
