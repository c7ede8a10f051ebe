// Attributes between a kernel's name and its parameters, also as the only mark.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[64]
// EXPECT 0: u32[64] = i
// RUN: kernel=k threads=128 group=128
// ARG 0: u32[128]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: 64
// RUN: kernel=triple threads=4 group=4
// ARG 0: u32[4]
// EXPECT 0: u32 [0 3 6 9]
// RUN: kernel=twice_int threads=4 group=4
// ARG 0: i32[4]
// EXPECT 0: i32 [0 2 4 6]
#include <metal_stdlib>
using namespace metal;

kernel void k [[max_total_threads_per_threadgroup(64)]] (device uint *x [[buffer(0)]],
                                                         uint i [[thread_position_in_grid]]) {
    x[i] = i;
}
void three [[kernel, host_name("triple")]] (device uint *x [[buffer(0)]],
                                            uint i [[thread_position_in_grid]]) {
    x[i] = 3 * i;
}
template <typename T>
kernel void twice [[max_total_threads_per_threadgroup(32)]] (device T *x [[buffer(0)]],
                                                             uint i [[thread_position_in_grid]]) {
    x[i] = 2 * T(i);
}
template [[host_name("twice_int")]] kernel void twice<int>(device int *, uint);
