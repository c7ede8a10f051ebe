// What a kernel cannot be given or give; the kernels of taken.metal are near to it.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], threadgroup float *s [[buffer(1)]]) { x[0] = s[0]; } // ERROR: must be in device or constant memory to have [[buffer]]
