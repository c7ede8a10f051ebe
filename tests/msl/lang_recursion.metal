// Functions of floating-point numbers that call themselves or each other to bring an argument into
// range: to a limited depth, with different depths in different threads.
// RUN: kernel=mutual threads=28
// ARG 0: f32[28]
// EXPECT 0: f32[28] = i < 12 ? 1000 + i : 2000 + 12 + i - 12
//
// RUN: kernel=folded threads=40
// ARG 0: f32[40]
// EXPECT 0: f32[40] = i % 4
#include <metal_stdlib>
using namespace metal;

template <typename T> T outside(T x);
template <typename T> T inside(T x) {
    if (x >= 12)
        return outside(x) + 1000;
    return x;
}
template <typename T> T outside(T x) {
    if (x < 12)
        return inside(x) + 1000;
    return 1000 + x;
}
kernel void mutual(device float *out, uint i [[thread_position_in_grid]]) {
    out[i] = i < 12 ? outside(float(i)) : inside(float(i));
}

float fold(float x, int period) {
    if (x < period)
        return x;
    float rest = fold(x - period, period);
    return rest;
}
kernel void folded(device float *out, uint i [[thread_position_in_grid]]) {
    out[i] = fold(i % 16, 4);
}
