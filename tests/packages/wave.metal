#include <metal_stdlib>
using namespace metal;

kernel void wave(device float *out [[buffer(0)]],
                 constant float &step [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    float total = simd_sum(float(i));      // over the 32 threads of a SIMD-group
    out[i] = sin(i * step) + total;
}
