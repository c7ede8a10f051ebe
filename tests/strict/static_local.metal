#include <metal_stdlib>
using namespace metal;
kernel void k(device int *x [[buffer(0)]]) {
    static const int table[2] = {3, 4}; // REFUSED: wants a static variable to be in the constant address space
    x[0] = table[1];
}
