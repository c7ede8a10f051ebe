// Variadic templates and fold expressions.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[2]
// EXPECT 0: i32 [10 24]
#include <metal_stdlib>
using namespace metal;

template <typename... T> int total(T... v) { return (v + ...); }
template <typename T> T product(T v) { return v; }
template <typename T, typename... R> T product(T v, R... r) { return v * product(r...); }
kernel void k(device int *x [[buffer(0)]]) {
    x[0] = total(1, 2, 3, 4);
    x[1] = product(1, 2, 3, 4);
}
