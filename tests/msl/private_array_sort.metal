// Insertion sort of a private array, per lane.
// RUN: kernel=k threads=6 group=6
// ARG 0: i32 [4 3 2 1 1 2 3 4 2 1 4 3 9 9 1 1 7 5 6 5 0 -1 -2 -3]
// EXPECT 0: i32 [1 2 3 4 1 2 3 4 1 2 3 4 1 1 9 9 5 5 6 7 -3 -2 -1 0]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int a[4];
    for (int j = 0; j < 4; j++)
        a[j] = x[4 * i + j];
    for (int j = 1; j < 4; j++) {
        int v = a[j], p = j - 1;
        while (p >= 0 && a[p] > v) {
            a[p + 1] = a[p];
            p--;
        }
        a[p + 1] = v;
    }
    for (int j = 0; j < 4; j++)
        x[4 * i + j] = a[j];
}
