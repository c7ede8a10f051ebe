// A uniform trip count with an exit that depends on data.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[640] = (i * 7 + idiv(i, 10)) % 10
// ARG 1: i32[64]
// EXPECT 1: i32[64] = minof(j, 0, 11, j == 10 ? 10 : (10 * i + j) * 7 + idiv(10 * i + j, 10) - 10 * floor(((10 * i + j) * 7 + idiv(10 * i + j, 10)) / 10) == 3 ? j : 10)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const int *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int found = 10;
    for (int j = 0; j < 10; j++) {
        if (x[10 * i + j] == 3) {
            found = j;
            break;
        }
    }
    y[i] = found;
}
