// Row and column share no bits where a lane is active; lane 0, which the others are counted from, is not.
// RUN: kernel=diagonals threads=16 group=16
// ARG 0: u32[240]
// EXPECT 0: u32[240] = idiv(i, 16) + i % 16 + 1
#include <metal_stdlib>
using namespace metal;

kernel void diagonals(device uint *x [[buffer(0)]], uint t [[thread_position_in_grid]]) {
    for (uint d = 0; d < 31; d++) {
        if (t > 0 && t <= d && d - t < 16) {
            uint c = d - t;
            x[16 * (t - 1) + c] = d;
        }
    }
}
