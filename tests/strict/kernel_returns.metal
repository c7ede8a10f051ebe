// What a kernel cannot be given or give; the kernels of taken.metal are near to it.
#include <metal_stdlib>
using namespace metal;
// ALL PASSES
kernel int k(device float *x [[buffer(0)]]) { return 1; } // ERROR: a kernel returns void
