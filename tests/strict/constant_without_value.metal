#include <metal_stdlib>
using namespace metal;
constant float scale; // ERROR: default initialization of an object of const type
kernel void k(device float *x [[buffer(0)]]) { x[0] *= scale; }
