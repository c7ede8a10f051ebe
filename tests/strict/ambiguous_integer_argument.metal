// sqrt is there for float and for half; an int converts to both.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = sqrt(i); // REFUSED: ambiguous
}
