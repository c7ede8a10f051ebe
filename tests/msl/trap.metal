// A trap is an error of the launch, in every form, wherever it stands and whatever was stored before.
// RUN: kernel=some_lanes threads=64 group=64
// ARG 0: f32[64]
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// EXPECT-ERROR: __builtin_trap
// RUN: kernel=all_lanes threads=64 group=64
// ARG 0: f32[64]
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// EXPECT-ERROR: "all_lanes"
// RUN: kernel=verbose threads=64 group=64
// ARG 0: f32[64]
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// EXPECT-ERROR: "verbose"
// RUN: kernel=debug threads=64 group=64
// ARG 0: f32[64]
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// EXPECT-ERROR: "debug"
// RUN: kernel=in_function threads=64 group=64
// ARG 0: f32[64]
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// EXPECT-ERROR: "in_function"
// RUN: kernel=before_barrier threads=64 group=64
// ARG 0: f32[64] = i
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// EXPECT-ERROR: "before_barrier"
// RUN: kernel=never threads=64 group=64
// ARG 0: f32[64] = i
// EXPECT 0: f32[64] = 2 * i
#include <metal_stdlib>
using namespace metal;

kernel void some_lanes(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = 1;
    if (i == 33)
        __builtin_trap();
}
kernel void all_lanes(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = 1;
    __builtin_trap();
}
kernel void verbose(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i == 3)
        __builtin_verbose_trap("area", "reason");
    out[i] = 1;
}
kernel void debug(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i == 3)
        __builtin_debugtrap();
    out[i] = 1;
}

float checked_root(float x) {
    if (x < 0)
        __builtin_trap();
    return sqrt(x);
}
kernel void in_function(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    for (uint k = 0; k < 4; k++)
        out[i] += checked_root(float(i) - 8 * k);
}
kernel void before_barrier(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    threadgroup float shared[64];
    shared[i] = out[i];
    if (shared[i] > 62)
        __builtin_trap();
    threadgroup_barrier(mem_flags::mem_threadgroup);
    out[i] = shared[63 - i];
}
kernel void never(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (out[i] < 0)
        __builtin_trap();
    out[i] *= 2;
}
