// dot, cross, length, distance, normalize, reflect.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[12]
// EXPECT 0: f32 [32 -3 6 -3 5 5 0.6 0.8 1 1 25 2] ; tol=1e-6
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) {
    float3 a(1, 2, 3), b(4, 5, 6);
    float3 c = cross(a, b);
    float2 n = normalize(float2(3, 4)), r = reflect(float2(1, -1), float2(0, 1));
    x[0] = dot(a, b);
    x[1] = c.x;
    x[2] = c.y;
    x[3] = c.z;
    x[4] = length(float2(3, 4));
    x[5] = distance(float2(1, 1), float2(4, 5));
    x[6] = n.x;
    x[7] = n.y;
    x[8] = r.x;
    x[9] = r.y;
    x[10] = length_squared(float2(3, 4));
    x[11] = distance_squared(float2(0, 0), float2(1, 1));
}
