// What a kernel cannot be given or give; the kernels of taken.metal are near to it.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], float4 p [[position]]) { x[0] = p.x; } // ERROR: unknown attribute [[position]]
