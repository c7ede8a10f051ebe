// Ray tracing is not there: its namespace is refused by name, also without the header.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error: kernel "k" uses raytracing; ray tracing is not supported
#include <metal_stdlib>

kernel void k(device float *x [[buffer(0)]]) {
    metal::raytracing::ray ray;
    x[0] = 1;
}
