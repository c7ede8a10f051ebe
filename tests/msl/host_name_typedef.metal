// The form with a typedef of the function's type.
// RUN: kernel=neg_f32 threads=2 group=2
// ARG 0: f32 [1 -2]
// EXPECT 0: f32 [-1 2]
// RUN: kernel=neg_i8 threads=2 group=2
// ARG 0: i8 [1 -2]
// EXPECT 0: i8 [-1 2]
#include <metal_stdlib>
using namespace metal;

template <typename T>
kernel void neg(device T *x, uint i [[thread_position_in_grid]]) { x[i] = -x[i]; }
typedef decltype(neg<float>) neg_t;
template [[host_name("neg_f32")]] kernel neg_t neg<float>;
typedef decltype(neg<char>) neg_c;
template [[host_name("neg_i8")]] kernel neg_c neg<char>;
