#include <metal_stdlib>
using namespace metal;
kernel void main(device int *x [[buffer(0)]]) { x[0] = 1; } // REFUSED: takes no kernel of the name main
