// A directive of C23 and C++26.
#include <metal_stdlib>
using namespace metal;
constant int all[] = {
#embed "embed.metal" limit(4) // ERROR: Metal has no such directive
};
kernel void k(device float *x [[buffer(0)]]) { x[0] = all[0]; }
