// Geometric functions are of floating point.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], device int *n [[buffer(1)]]) {
    int3 v = n[0];
    float3 w = float3(v);
    x[0] = dot(v, v); // REFUSED: geometric functions of float and half vectors
    x[1] = length(v); // REFUSED: geometric functions of float and half vectors
    x[2] = normalize(v).x; // REFUSED: geometric functions of float and half vectors
    x[3] = cross(v, v).x; // REFUSED: geometric functions of float and half vectors
    x[4] = dot(w, w) + length(w) + normalize(half3(w)).x + cross(w, w).x;
}
