#include <metal_stdlib>
using namespace metal;
kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup int table[] = {1, 2, 3}; // ERROR: an array in threadgroup memory cannot have initial values
    x[i] = table[i];
}
