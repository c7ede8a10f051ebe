// The limit is checked before anything runs.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[64]
// EXPECT 0: u32[64] = i
// RUN: kernel=k threads=128 group=128
// ARG 0: u32[128]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: 64
#include <metal_stdlib>
using namespace metal;

[[max_total_threads_per_threadgroup(64)]]
kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = i; }
