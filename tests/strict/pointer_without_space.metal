#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float *p = x + i; // REFUSED: wants the address space of what a pointer points to
    *p += 1.0f;
}
