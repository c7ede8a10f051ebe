#include <metal_stdlib>
using namespace metal;
int counter; // REFUSED: wants a variable outside of functions to be in the constant address space
kernel void k(device int *x [[buffer(0)]]) { x[0] = 1; }
