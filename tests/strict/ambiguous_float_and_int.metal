// Functions that integers have too: one type for all arguments.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = clamp(x[i], 0, 1); // REFUSED: ambiguous
}
