// What a kernel cannot be given or give; the kernels of taken.metal are near to it.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_gird]]) { x[i] = 1; } // ERROR: unknown attribute [[thread_position_in_gird]]
