// max(half, half) and max(float, float) fit equally well.
#include <metal_stdlib>
using namespace metal;
kernel void k(device half *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = max(x[i], 1.0f); // REFUSED: finds a call with arguments of these types ambiguous
}
