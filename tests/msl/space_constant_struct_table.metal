// A program-scope table of structs, indexed by the thread.
// RUN: kernel=k threads=6 group=6
// ARG 0: f32[6]
// EXPECT 0: f32 [1.5 4 7.5 1.5 4 7.5]
#include <metal_stdlib>
using namespace metal;

struct Entry {
    int n;
    float f;
};
constant Entry entries[3] = {{1, 1.5f}, {2, 2.0f}, {3, 2.5f}};
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = entries[i % 3].n * entries[i % 3].f;
}
