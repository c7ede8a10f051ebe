#include <metal_stdlib>
using namespace metal;
struct shape {
    static constexpr int rows = 8; // REFUSED: wants a static variable to be in the constant address space
};
kernel void k(device int *x [[buffer(0)]]) { x[0] = shape::rows; }
