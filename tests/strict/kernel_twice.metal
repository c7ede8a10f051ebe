#include <metal_stdlib>
using namespace metal;
kernel void k(device int *x [[buffer(0)]]) { x[0] = 1; }
kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; } // REFUSED: another kernel before this one has its name
