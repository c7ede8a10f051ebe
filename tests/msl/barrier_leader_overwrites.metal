// All SIMD-groups read what SIMD-group 0 has left in threadgroup memory, and SIMD-group 0
// overwrites it before the next barrier. Strictly a race, which widespread kernels have: every
// SIMD-group must read before SIMD-group 0 goes on.
// RUN: kernel=leader threads=256 group=256
// ARG 0: u32[256]
// EXPECT 0: u32[256] = 0 + 8 + 16 + 24
#include <metal_stdlib>
using namespace metal;

kernel void leader(device uint *out, uint t [[thread_index_in_threadgroup]],
                   uint lane [[thread_index_in_simdgroup]],
                   uint group [[simdgroup_index_in_threadgroup]]) {
    threadgroup uint sums[8];
    uint total = 0;
    for (uint round = 0; round < 4; round++) {
        if (lane == 0)
            sums[group] = round; // FINDS: race
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (group == 0) {
            uint all = simd_sum(lane < 8 ? sums[lane] : 0);
            if (lane == 0)
                sums[0] = all;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        total += sums[0];
    }
    out[t] = total;
}
