// What a kernel cannot be given or give; the kernels of taken.metal are near to it.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x[2] [[buffer(0)]]) { x[0][0] = 1; } // ERROR: a kernel parameter must be a built-in value
