// RUN: kernel=k threads=6,5,2 group=4,4,1
// ARG 0: u32 [0 0 0]
// EXPECT 0: u32 [6 5 2]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint3 p [[thread_position_in_grid]], uint3 n [[threads_per_grid]]) {
    if (all(p == 0)) {
        x[0] = n.x;
        x[1] = n.y;
        x[2] = n.z;
    }
}
