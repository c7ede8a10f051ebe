// An index left out between explicit ones is used by an implicit parameter.
// RUN: kernel=k threads=2 group=2
// ARG 0: i32 [5 6]
// ARG 1: i32[2]
// ARG 2: i32 [7 9]
// EXPECT 1: i32 [507 609]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *a [[buffer(0)]], device const int *b [[buffer(2)]], device int *out,
              uint i [[thread_position_in_grid]]) {
    out[i] = 100 * a[i] + b[i];
}
