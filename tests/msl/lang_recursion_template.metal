// Recursion at compile time is fine.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [120]
#include <metal_stdlib>
using namespace metal;

template <int N> struct Factorial { static constant constexpr int value = N * Factorial<N - 1>::value; };
template <> struct Factorial<0> { static constant constexpr int value = 1; };
kernel void k(device int *x [[buffer(0)]]) { x[0] = Factorial<5>::value; }
