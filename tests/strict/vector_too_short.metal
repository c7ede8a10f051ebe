#include <metal_stdlib>
using namespace metal;
kernel void k(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = float4(1.0f, 2.0f); // REFUSED: refuses a vector of too few components
}
