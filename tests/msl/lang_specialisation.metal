// Class templates, partial specialisation, static members.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[3]
// EXPECT 0: i32 [32 16 99]
#include <metal_stdlib>
using namespace metal;

template <typename T> struct Bits { static constant constexpr int value = 32; };
template <> struct Bits<half> { static constant constexpr int value = 16; };
template <typename T, int N> struct Bits<vec<T, N>> { static constant constexpr int value = 99; };
kernel void k(device int *x [[buffer(0)]]) {
    x[0] = Bits<float>::value;
    x[1] = Bits<half>::value;
    x[2] = Bits<float4>::value;
}
