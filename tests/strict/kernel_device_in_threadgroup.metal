// What a kernel cannot be given or give; the kernels of taken.metal are near to it.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[threadgroup(0)]]) { x[0] = 1; } // ERROR: must be in threadgroup memory to have [[threadgroup]]
