// Ray tracing is not there: a kernel that uses it is refused, and the others of its file are not.
// RUN: kernel=trace threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_ray_tracing.metal:22:5: error: kernel "trace" uses intersector; ray tracing is not supported
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT 0: f32 [9]
#include <metal_raytracing>
#include <metal_stdlib>
using namespace metal;
using namespace metal::raytracing;

[[intersection(triangle)]] bool any(primitive_acceleration_structure scene) { return true; }

float reach(ray r) {
    return r.max_distance - r.min_distance;
}

kernel void trace(device float *x [[buffer(0)]]) {
    ray r;
    intersector<> finder;
    x[0] = finder.intersect(r).distance;
}

kernel void k(device float *x [[buffer(0)]]) {
    ray r;
    r.min_distance = 1;
    r.max_distance = 10;
    x[0] = reach(r);
}
