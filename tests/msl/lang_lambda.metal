// Lambdas, generic ones too.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32[4]
// EXPECT 0: f32 [1 3.5 6 8.5]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    auto twice = [](auto v) { return v + v; };
    float base = 1;
    auto add = [&](float v) { return base + v; };
    x[i] = add(twice(float(i)) + float(i) / 2);
}
