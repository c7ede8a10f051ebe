// RUN: kernel=k threads=5,6,7 group=4,4,4
// ARG 0: i32[210]
// EXPECT 0: i32[210] = 1 + (i % 5) + (idiv(i, 5) % 6) + idiv(i, 30)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint3 p [[thread_position_in_grid]]) {
    x[(p.z * 6 + p.y) * 5 + p.x] += 1 + p.x + p.y + p.z;
}
