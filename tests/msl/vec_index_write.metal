// Writing a component by a varying index.
// RUN: kernel=k threads=4 group=4
// ARG 0: i32[16]
// EXPECT 0: i32 [9 1 1 1 1 9 1 1 1 1 9 1 1 1 1 9]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int4 v = 1;
    v[i] = 9;
    x[i] = v;
}
