// The first NaN or infinity that appears from finite operands.
// SANITIZE: numeric
// RUN: kernel=divide threads=8 group=8
// ARG 0: f32[8] = i
// RUN: kernel=zero_by_zero threads=8 group=8
// ARG 0: f32[8]
// RUN: kernel=add threads=8 group=8
// ARG 0: f32[8] = 3e38
// RUN: kernel=subtract threads=8 group=8
// ARG 0: f32[8] = 3e38
// RUN: kernel=multiply threads=8 group=8
// ARG 0: f32[8] = 1e20
// RUN: kernel=assign threads=8 group=8
// ARG 0: f32[8] = 1e30
// RUN: kernel=square_root threads=8 group=8
// ARG 0: f32[8] = 0 - i
// RUN: kernel=logarithm threads=8 group=8
// ARG 0: f32[8] = i
// RUN: kernel=exponential threads=8 group=8
// ARG 0: f32[8] = 20 * i
// RUN: kernel=power threads=8 group=8
// ARG 0: f32[8] = 0 - i
// RUN: kernel=reciprocal_root threads=8 group=8
// ARG 0: f32[8] = i
// RUN: kernel=softmax_without_maximum threads=8 group=8
// ARG 0: f32[8] = 100 * i
// RUN: kernel=half_product threads=8 group=8
// ARG 0: f16[8] = 300
// RUN: kernel=to_half threads=8 group=8
// ARG 0: f32[8] = 70000
// ARG 1: f16[8]
// RUN: kernel=vector_divide threads=8 group=8
// ARG 0: f32[32] = i
// RUN: kernel=vector_exponential threads=8 group=8
// ARG 0: f32[32] = 4 * i
// RUN: kernel=normalised_zero threads=8 group=8
// ARG 0: f32[32]
// RUN: kernel=mean_of_nothing threads=8 group=8
// ARG 0: f32[8]
// ARG 1: u32 [0]
// RUN: kernel=first_one_only threads=8 group=8
// ARG 0: f32[8] = i
// RUN: kernel=given_infinities_are_fine threads=4 group=4
// ARG 0: f32[4] = 1e39
// RUN: kernel=guarded_is_fine threads=8 group=8
// ARG 0: f32[8] = i
// RUN: kernel=constants_are_fine threads=8 group=8
// ARG 0: f32[8] = i
// RUN: kernel=stable_softmax_is_fine threads=8 group=8
// ARG 0: f32[8] = 100 * i
// RUN: kernel=maths_is_fine threads=8 group=8
// ARG 0: f32[8] = 1000 * i + 1
#include <metal_stdlib>
using namespace metal;

kernel void divide(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1 / x[i]; // FINDS: numeric
}
kernel void zero_by_zero(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] / x[i]; // FINDS: numeric
}
kernel void add(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] + x[7 - i]; // FINDS: numeric
}
kernel void subtract(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = -x[i] - x[7 - i]; // FINDS: numeric
}
kernel void multiply(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v = x[i];
    v = v * v; // FINDS: numeric
    x[i] = v + 1;
}
kernel void assign(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] *= 1e20f; // FINDS: numeric
}
kernel void square_root(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = sqrt(x[i]); // FINDS: numeric
}
kernel void logarithm(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = log(x[i]); // FINDS: numeric
}
kernel void exponential(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = exp(x[i]); // FINDS: numeric
}
kernel void power(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = pow(x[i], 0.5f); // FINDS: numeric
}
kernel void reciprocal_root(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = rsqrt(x[i]); // FINDS: numeric
}
kernel void softmax_without_maximum(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float e = exp(x[i]); // FINDS: numeric
    x[i] = e / simd_sum(e);
}
kernel void half_product(device half *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] * x[7 - i]; // FINDS: numeric
}
kernel void to_half(device float *x [[buffer(0)]], device half *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = half(x[i]); // FINDS: numeric
}
kernel void vector_divide(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = float4(1) / x[i]; // FINDS: numeric
}
kernel void vector_exponential(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = exp(x[i]); // FINDS: numeric
}
kernel void normalised_zero(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = normalize(x[i]); // FINDS: numeric
}
kernel void mean_of_nothing(device float *x [[buffer(0)]], constant uint &n [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint k = 0; k < n; k++) {
        sum += x[k];
    }
    x[i] = sum / float(n); // FINDS: numeric
}
kernel void first_one_only(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v = 1 / x[i]; // FINDS: numeric
    float w = v * 2 + 1;
    x[i] = sqrt(w) - v;
}
kernel void given_infinities_are_fine(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] * 2 - 1;
}
kernel void guarded_is_fine(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v = x[i];
    if (v > 0) {
        x[i] = 1 / v + log(v) + rsqrt(v);
    }
}
kernel void constants_are_fine(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float best = -INFINITY;
    for (uint k = 0; k < 8; k++) {
        best = max(best, x[k]);
    }
    x[i] = best;
}
kernel void stable_softmax_is_fine(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float e = exp(x[i] - simd_max(x[i]));
    x[i] = e / simd_sum(e);
}
kernel void maths_is_fine(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float v = x[i];
    x[i] = sin(v) + cos(v) + tanh(v) + exp(-v) + log(v) + sqrt(v) + pow(v, 2.0f) + atan2(v, 2.0f) + fmod(v, 3.0f) +
           length(float3(v)) + sinh(v * 0.001f);
}
