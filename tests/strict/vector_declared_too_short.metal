#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    metal::float3 v(x[i], 2.0f); // REFUSED: too few components
    x[i] = v.x;
}
