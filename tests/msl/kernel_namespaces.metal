// Kernels are named with their namespaces, where [[host_name]] gives them no other name.
// RUN: kernel=first::k threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [1]
// RUN: kernel=second::inner::k threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [2]
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [3]
// RUN: kernel=second::inner::set<4> threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [4]
// RUN: kernel=named threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [5]
// RUN: kernel=second::inner::alone threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [6]
// RUN: kernel=second::inner::set<7> threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [7]
#include <metal_stdlib>
using namespace metal;

namespace first {
namespace {
constant int one = 1;
}
kernel void k(device int *x) {
    x[0] = one;
}
} // namespace first
namespace second::inner {
kernel void k(device int *x) {
    x[0] = 2;
}
template <int N> kernel void set(device int *x) {
    x[0] = N;
}
template kernel void set<4>(device int *);
[[host_name("named")]] kernel void k5(device int *x) {
    x[0] = 5;
}
kernel void alone(device int *x) {
    x[0] = 6;
}
} // namespace second::inner
template kernel void second::inner::set<7>(device int *);
kernel void k(device int *x) {
    x[0] = 3;
}
