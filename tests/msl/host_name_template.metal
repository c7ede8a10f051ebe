// Explicit instantiations with host_name, for two types.
// RUN: kernel=double_float threads=3 group=3
// ARG 0: f32 [1 2 3]
// EXPECT 0: f32 [2 4 6]
// RUN: kernel=double_int threads=3 group=3
// ARG 0: i32 [1 2 3]
// EXPECT 0: i32 [2 4 6]
#include <metal_stdlib>
using namespace metal;

template <typename T>
[[kernel]] void twice(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] + x[i];
}
template [[host_name("double_float")]] [[kernel]] void twice<float>(device float *, uint);
template [[host_name("double_int")]] [[kernel]] void twice<int>(device int *, uint);
