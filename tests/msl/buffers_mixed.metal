// Explicit indices are taken first; the others get the lowest free ones, in order.
// RUN: kernel=k threads=2 group=2
// ARG 0: i32 [1 2]
// ARG 1: i32 [10 20]
// ARG 2: i32 [100 200]
// ARG 3: i32[2]
// EXPECT 3: i32 [321 642]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *a, device const int *b [[buffer(1)]], device const int *c, device int *out,
              uint i [[thread_position_in_grid]]) {
    out[i] = a[i] + 2 * b[i] + 3 * c[i];
}
