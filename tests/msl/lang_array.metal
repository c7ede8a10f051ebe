// metal::array as a value.
// RUN: kernel=k threads=3 group=3
// ARG 0: i32[3]
// EXPECT 0: i32 [6 9 12]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    array<int, 3> a = {1, 2, 3};
    for (uint j = 0; j < a.size(); j++)
        a[j] += i;
    x[i] = a[0] + a[1] + a[2];
}
