// RUN: kernel=pad threads=2 group=2
// ARG 0: i32[2]
// EXPECT 0: i32 [12 12]
#include <metal_stdlib>
using namespace metal;

template <typename T = int, int N = 3> struct Pad { T values[N]; };
template <int A, int B = A * 2> int sum() { return A + B; }
kernel void pad(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = sizeof(Pad<>) + sum<4>() - 12;
}
