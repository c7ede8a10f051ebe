// A function as a template argument, and functors.
// RUN: kernel=k_sub threads=3 group=3
// ARG 0: i32 [10 20 30]
// EXPECT 0: i32 [7 17 27]
// RUN: kernel=k_add threads=3 group=3
// ARG 0: i32 [10 20 30]
// EXPECT 0: i32 [13 23 33]
#include <metal_stdlib>
using namespace metal;

struct Add {
    int operator()(int a, int b) const { return a + b; }
};
struct Sub {
    int operator()(int a, int b) const { return a - b; }
};
template <typename Op> [[kernel]] void apply(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = Op()(x[i], 3);
}
template [[host_name("k_add")]] [[kernel]] void apply<Add>(device int *, uint);
template [[host_name("k_sub")]] [[kernel]] void apply<Sub>(device int *, uint);
