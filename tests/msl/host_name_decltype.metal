// The form `template [[host_name]] [[kernel]] decltype(f<T>) f<T>`.
// RUN: kernel=add_3 threads=3 group=3
// ARG 0: i32 [1 2 3]
// EXPECT 0: i32 [4 5 6]
// RUN: kernel=add_4 threads=3 group=3
// ARG 0: i32 [1 2 3]
// EXPECT 0: i32 [5 6 7]
#include <metal_stdlib>
using namespace metal;

template <typename T, int N>
[[kernel]] void add(device T *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] += N;
}
template [[host_name("add_3")]] [[kernel]] decltype(add<int, 3>) add<int, 3>;
template [[host_name("add_4")]] [[kernel]] decltype(add<int, 4>) add<int, 4>;
