// Several lanes store to one address: the highest lane wins.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[2]
// EXPECT 0: i32 [31 30]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[0] = i;
    if (i % 2 == 0)
        x[1] = i;
}
