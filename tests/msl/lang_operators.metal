// Overloaded operators and conversion operators.
// RUN: kernel=k threads=3 group=3
// ARG 0: f32[6]
// EXPECT 0: f32 [2 0 1 1 0 2]
#include <metal_stdlib>
using namespace metal;

struct Complex {
    float re, im;
    Complex operator*(Complex o) const { return {re * o.re - im * o.im, re * o.im + im * o.re}; }
    Complex operator+(Complex o) const { return {re + o.re, im + o.im}; }
    operator float2() const { return float2(re, im); }
};
kernel void k(device float2 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    Complex one = {1, 0}, turn = {0, 1}, p = {1, 0};
    for (uint j = 0; j < i; j++)
        p = p * turn;
    x[i] = i == 2 ? float2(p * p * turn + turn) : float2(p + one);
}
