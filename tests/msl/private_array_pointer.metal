// A pointer into a private array, moved per lane.
// RUN: kernel=k threads=16 group=16
// ARG 0: i32[16]
// EXPECT 0: i32[16] = 2 * (i % 5) + 1
#include <metal_stdlib>
using namespace metal;

void fill(thread int *p, int n) {
    for (int j = 0; j < n; j++)
        p[j] = 2 * j;
}
kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int a[6];
    fill(a, 6);
    thread int *p = a + i % 5;
    *p += 1;
    x[i] = a[i % 5];
}
