// vec<T, N> as a template parameter's name.
// RUN: kernel=k threads=2 group=2
// ARG 0: f16 [1 2 3 4 5 6 7 8]
// ARG 1: f32[2]
// EXPECT 1: f32 [10 26]
#include <metal_stdlib>
using namespace metal;

template <typename T, int N> float total(vec<T, N> v) {
    float sum = 0;
    for (int i = 0; i < N; i++)
        sum += float(v[i]);
    return sum;
}
kernel void k(device const vec<half, 4> *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = total(x[i]);
}
