// Accesses of one place, several by each thread: what is told once is still found.
// SANITIZE: race
// RUN: kernel=update_to_the_same threads=64 group=64
// ARG 0: f32[1] = 1
// RUN: kernel=load_behind_the_store threads=64 group=64
// ARG 0: f32[1]
// ARG 1: f32[64]
// RUN: kernel=loads_before_the_neighbours threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=barrier_between threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=updates_of_its_own threads=64 group=64
// ARG 0: f32[64]
// RUN: kernel=all_store_the_same threads=64 group=64
// ARG 0: f32[1]
// RUN: kernel=all_store_others threads=64 group=64
// ARG 0: f32[1]
#include <metal_stdlib>
using namespace metal;

kernel void update_to_the_same(device float *x [[buffer(0)]]) {
    x[0] = x[0] * 1.0f; // FINDS: race
}
kernel void load_behind_the_store(device float *x [[buffer(0)]], device float *y [[buffer(1)]],
                                  uint i [[thread_position_in_grid]]) {
    x[0] = 5; // FINDS: race
    y[i] = x[0];
}
kernel void loads_before_the_neighbours(device float *x [[buffer(0)]],
                                        uint i [[thread_position_in_grid]]) {
    threadgroup float s[64];
    s[i] = x[i] + x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float a = s[i], b = s[i];
    s[(i + 1) % 64] = a + b; // FINDS: race
}
kernel void barrier_between(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[64];
    s[i] = x[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float a = s[i];
    s[63 - i] = a; // FINDS: race
    threadgroup_barrier(mem_flags::mem_threadgroup);
    s[i] = a;
    x[i] = s[i];
}
kernel void updates_of_its_own(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float s[64];
    s[i] = x[i];
    s[i] *= s[i];
    x[i] = s[i] + s[i];
    x[i] += 1;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    x[i] *= s[63 - i];
}
kernel void all_store_the_same(device float *x [[buffer(0)]]) {
    x[0] = 5;
    threadgroup_barrier(mem_flags::mem_device);
    x[0] = 6;
}
kernel void all_store_others(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[0] = 5;
    x[0] = i == 31 ? 7 : 6; // FINDS: race
}
