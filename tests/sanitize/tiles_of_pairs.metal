// Tiles whose rows lie two by two, interleaved, as matrix units of CPUs take them: which elements their loads read.
// SANITIZE: race,uninitialised
// RUN: kernel=store_behind_the_pairs threads=32 group=32
// ARG 0: u32[32]
// RUN: kernel=store_to_a_pair threads=64 group=64
// ARG 0: u32[32]
// RUN: kernel=pairs_are_written threads=32 group=32
// ARG 0: u32[64]?
// ARG 1: u32[32]
// RUN: kernel=pairs_are_not_written threads=32 group=32
// ARG 0: u32[64]?
// ARG 1: u32[32]
#include <metal_stdlib>
using namespace metal;

// Lines of 16: the tile is the first 64 elements.
kernel void store_behind_the_pairs(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup ushort s[128];
    for (uint i = lane; i < 128; i += 32)
        s[i] = i;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    uint low = __ingot_simdgroup_load_pairs_threadgroup_b16(s, 16, false, 0);
    uint high = __ingot_simdgroup_load_pairs_threadgroup_b16(s, 16, false, 1);
    s[64 + lane] = low;
    s[127 - lane] = high;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out[lane] = s[64 + lane] + s[96 + lane];
}

// Row 1, column 7 of the tile is element 15.
kernel void store_to_a_pair(device uint *out [[buffer(0)]], uint lane [[thread_index_in_simdgroup]],
                            uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup ushort s[128];
    s[64 * simd + lane] = s[64 * simd + 32 + lane] = lane;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd == 0) {
        uint low = __ingot_simdgroup_load_pairs_threadgroup_b16(s, 16, false, 0);
        uint high = __ingot_simdgroup_load_pairs_threadgroup_b16(s, 16, false, 1); // FINDS: race
        out[lane] = low + high;
    } else if (lane == 0) {
        s[15] = 99;
    }
}

kernel void pairs_are_written(device ushort *x [[buffer(0)]], device uint *out [[buffer(1)]],
                              uint lane [[thread_index_in_simdgroup]]) {
    x[lane] = x[32 + lane] = lane;
    simdgroup_barrier(mem_flags::mem_device);
    uint low = __ingot_simdgroup_load_pairs_device_b16(x, 16, false, 0);
    uint high = __ingot_simdgroup_load_pairs_device_b16(x, 16, false, 1);
    out[lane] = low + high;
}

kernel void pairs_are_not_written(device ushort *x [[buffer(0)]], device uint *out [[buffer(1)]],
                                  uint lane [[thread_index_in_simdgroup]]) {
    for (uint i = lane; i < 128; i += 32)
        if (i != 15)
            x[i] = i;
    simdgroup_barrier(mem_flags::mem_device);
    uint low = __ingot_simdgroup_load_pairs_device_b16(x, 16, false, 0);
    uint high = __ingot_simdgroup_load_pairs_device_b16(x, 16, false, 1);
    out[lane] = low + high; // FINDS: uninitialised
}
