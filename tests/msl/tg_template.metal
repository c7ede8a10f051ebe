// Threadgroup arrays whose size and type are template arguments.
// RUN: kernel=rotate_32 threads=32 group=32
// ARG 0: f32[32] = i
// EXPECT 0: f32[32] = (i + 5) % 32
// RUN: kernel=rotate_8 threads=8 group=8
// ARG 0: i32[8] = i
// EXPECT 0: i32[8] = (i + 5) % 8
#include <metal_stdlib>
using namespace metal;

template <typename T, int N>
[[kernel]] void rotate(device T *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup T s[N];
    s[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = s[(t + 5) % N];
}
template [[host_name("rotate_32")]] [[kernel]] void rotate<float, 32>(device float *, uint);
template [[host_name("rotate_8")]] [[kernel]] void rotate<int, 8>(device int *, uint);
