// What a kernel cannot be given or give; the kernels of taken.metal are near to it.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], device uint *i [[thread_position_in_grid]]) { x[0] = 1; } // ERROR: is a value, and not in device memory
