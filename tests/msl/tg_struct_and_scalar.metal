// A scalar and a struct in threadgroup memory, written by one thread.
// RUN: kernel=k threads=50 group=50
// ARG 0: f32[50]
// EXPECT 0: f32[50] = 7.5 + i
#include <metal_stdlib>
using namespace metal;

struct State {
    float base;
    int step;
};
kernel void k(device float *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup State state;
    threadgroup float extra;
    if (t == 49) {
        state.base = 7;
        state.step = 1;
        extra = 0.5;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[t] = state.base + extra + float(t) * state.step;
}
