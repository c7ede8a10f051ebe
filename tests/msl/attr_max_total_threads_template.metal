// RUN: kernel=k_4 threads=128 group=128
// ARG 0: u32[128]
// EXPECT 0: u32[128] = i * 4
// RUN: kernel=k_4 threads=256 group=256
// ARG 0: u32[256]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: 128
#include <metal_stdlib>
using namespace metal;

template <int N>
[[kernel, max_total_threads_per_threadgroup(N * 32)]] void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = i * N;
}
template [[host_name("k_4")]] [[kernel]] void k<4>(device uint *, uint);
