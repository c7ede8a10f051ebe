// Division and remainder truncate towards zero; by a varying divisor, also in narrow types.
// RUN: kernel=k threads=8 group=8
// ARG 0: i32 [7 -7 7 -7 100 -100 2147483647 0]
// ARG 1: i32 [2 2 -2 -2 7 7 3 5]
// ARG 2: i32[8]
// ARG 3: i32[8]
// EXPECT 2: i32 [3 -3 -3 3 14 -14 715827882 0]
// EXPECT 3: i32 [1 -1 1 -1 2 -2 1 0]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *a [[buffer(0)]], device const int *b [[buffer(1)]], device int *q [[buffer(2)]],
              device int *r [[buffer(3)]], uint i [[thread_position_in_grid]]) {
    q[i] = a[i] / b[i];
    r[i] = a[i] % b[i];
}
