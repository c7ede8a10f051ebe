#include <metal_stdlib>
using namespace metal;
kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint half = i / 2; // REFUSED: takes half as a type
    x[i] = half;
}
