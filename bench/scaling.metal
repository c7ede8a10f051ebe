// What bench/scaling.c dispatches: the rows of bench/engine, and two more.
#include "engine/kernels.metal"

kernel void add(device const float *x [[buffer(0)]], device const float *y [[buffer(1)]],
                device float *out [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    out[i] = x[i] + y[i];
}

kernel void silu(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    out[i] = x[i] / (1.0f + exp(-x[i]));
}
