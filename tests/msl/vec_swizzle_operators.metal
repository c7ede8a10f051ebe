// Swizzles of dependent types in templates, in a program with operators of its own.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32[4]
// ARG 1: f32[4]
// EXPECT 0: f32 [3 8 3 4]
// EXPECT 1: f32 [-3 4 7 8]
#include <metal_stdlib>
using namespace metal;

struct number {
    float re, im, rg;
};
number operator*(number a, number b) {
    return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re, a.rg};
}
number operator+(number a, number b) { return {a.re + b.re, a.im + b.im, a.rg + b.rg}; }

template <typename T>
vec<T, 2> products(vec<T, 4> v) { return v.xy * v.zw; }

template <typename V>
V change(V v) {
    V w = v;
    w.xy = v.xy * v.zw + v.xy - v.xy;
    w.zw += select(v.xx, v.xx - v.xx, v.zw == v.zw);
    return w;
}

template <typename N>
N twice(N n) {
    N m = n * n + n;
    m.rg = n.rg + 1;
    return m;
}

kernel void k(device float *x, device float *y, uint i [[thread_position_in_grid]]) {
    float4 v(1, 2, 3, 4);
    float4 changed = change(v);
    changed.xy += products(v) - changed.xy;
    x[i] = changed[i];
    number n = twice(number{1, 2, 6});
    y[i] = i == 0 ? n.re - 1 : i == 1 ? n.im - 2 : i == 2 ? n.rg : 8;
}
