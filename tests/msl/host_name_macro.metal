// Instantiations made by a macro, as libraries do it.
// RUN: kernel=fill_float_1 threads=2 group=2
// ARG 0: f32[2]
// EXPECT 0: f32 [1 1]
// RUN: kernel=fill_half_2 threads=2 group=2
// ARG 0: f16[2]
// EXPECT 0: f16 [2 2]
#include <metal_stdlib>
using namespace metal;

template <typename T, int V>
[[kernel]] void fill(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = T(V); }
#define INSTANTIATE(name, type, value) \
    template [[host_name(#name "_" #type "_" #value)]] [[kernel]] void fill<type, value>(device type *, uint);
INSTANTIATE(fill, float, 1)
INSTANTIATE(fill, half, 2)
