#include <metal_stdlib>
using namespace metal;
constant float table[2] = {1, 2};
constant float *second = table + 1; // REFUSED: wants a variable outside of functions to be in the constant address space
kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; }
