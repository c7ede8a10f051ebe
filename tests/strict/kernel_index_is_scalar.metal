// What a kernel cannot be given or give; the kernels of taken.metal are near to it.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], uint3 i [[thread_index_in_threadgroup]]) { x[i.x] = 1; } // ERROR: must be ushort or uint to have [[thread_index_in_threadgroup]]
