// using, typedef and template aliases.
// RUN: kernel=k threads=2 group=2
// ARG 0: f32[2]
// EXPECT 0: f32 [6 6]
#include <metal_stdlib>
using namespace metal;

template <typename T> using quad = vec<T, 4>;
typedef quad<float> q4;
using scalar = float;
kernel void k(device scalar *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    q4 v = {0, 1, 2, 3};
    x[i] = v.x + v.y + v.z + v.w;
}
