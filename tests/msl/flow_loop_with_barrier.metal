// Barriers inside a loop that all threads run alike, with divergent work between them.
// RUN: kernel=k threads=64 group=64
// ARG 0: i32[64]
// EXPECT 0: i32[64] = 4 * i + 6
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup int s[64];
    int total = 0;
    for (int r = 0; r < 4; r++) {
        s[(t + r) % 64] = t + r;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        int v = s[(t + r) % 64];
        if (t % 3 == 0)
            total += v;
        else
            total = total + v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    x[t] = total;
}
