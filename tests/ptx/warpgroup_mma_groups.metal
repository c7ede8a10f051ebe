// Products of four SIMD-groups that add to other sums are another group: who looks at the first
// sums does not wait for the second, and what stands between the two waits stays there. Sums that
// somebody keeps are waited for before others are added to them (library.txt).
// TARGETS: sm_90a
// WANT: wgmma\.wait_group\.sync\.aligned 1;
// WANT: @q trap; \}
// WANT: wgmma\.wait_group\.sync\.aligned 0;
// NEVER: mma\.sync
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

inline void multiply(thread simdgroup_float8x8 (&sum)[2][8], threadgroup const bfloat *a,
                     threadgroup const bfloat *b) {
#pragma unroll
    for (uint k = 0; k < 64; k += 16) {
        simdgroup_bfloat8x8 x[2][2], y[2];
#pragma unroll
        for (uint i = 0; i < 4; i++)
            simdgroup_load(x[i % 2][i / 2], a + i / 2 * 8 * 64 + k + i % 2 * 8, 64);
#pragma unroll
        for (uint j = 0; j < 8; j++) {
#pragma unroll
            for (uint h = 0; h < 2; h++)
                simdgroup_load(y[h], b + (k + h * 8) * 64 + j * 8, 64);
#pragma unroll
            for (uint i = 0; i < 4; i++)
                simdgroup_multiply_accumulate(sum[i / 2][j], x[i % 2][i / 2], y[i % 2],
                                              sum[i / 2][j]);
        }
    }
}

[[max_total_threads_per_threadgroup(128)]]
kernel void two_groups(device const bfloat *from, device float *c,
                       threadgroup bfloat *a [[threadgroup(0)]],
                       threadgroup bfloat *b [[threadgroup(1)]],
                       uint me [[thread_index_in_threadgroup]],
                       uint simd [[simdgroup_index_in_threadgroup]]) {
    __ingot_full_threadgroups();
    simdgroup_float8x8 first[2][8], second[2][8];
#pragma unroll
    for (uint i = 0; i < 16; i++)
        first[i / 8][i % 8] = second[i / 8][i % 8] = simdgroup_float8x8(0.0f);
    for (uint i = me; i < 8192; i += 128)
        a[i % 4096] = b[i] = from[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply(first, a + simd * 1024, b);
    multiply(second, a + simd * 1024, b + 4096);
#pragma unroll
    for (uint i = 0; i < 16; i++)
        first[i / 8][i % 8].thread_elements() = fast::exp2(first[i / 8][i % 8].thread_elements());
#pragma unroll
    for (uint i = 0; i < 16; i++)
        second[i / 8][i % 8].thread_elements() =
            max(second[i / 8][i % 8].thread_elements(), first[i / 8][i % 8].thread_elements());
#pragma unroll
    for (uint i = 0; i < 16; i++)
        simdgroup_store(second[i / 8][i % 8], c + (simd * 16 + i / 8 * 8) * 64 + i % 8 * 8, 64);
}

[[max_total_threads_per_threadgroup(128)]]
kernel void kept_sums(device const bfloat *from, device float *c,
                      threadgroup bfloat *a [[threadgroup(0)]],
                      threadgroup bfloat *b [[threadgroup(1)]],
                      uint me [[thread_index_in_threadgroup]],
                      uint simd [[simdgroup_index_in_threadgroup]]) {
    __ingot_full_threadgroups();
    simdgroup_float8x8 sum[2][8], kept[2][8];
#pragma unroll
    for (uint i = 0; i < 16; i++)
        sum[i / 8][i % 8] = simdgroup_float8x8(0.0f);
    for (uint i = me; i < 8192; i += 128)
        a[i % 4096] = b[i] = from[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply(sum, a + simd * 1024, b);
#pragma unroll
    for (uint i = 0; i < 16; i++)
        kept[i / 8][i % 8] = sum[i / 8][i % 8];
    multiply(sum, a + simd * 1024, b + 4096);
#pragma unroll
    for (uint i = 0; i < 16; i++)
        sum[i / 8][i % 8].thread_elements() =
            max(sum[i / 8][i % 8].thread_elements(), kept[i / 8][i % 8].thread_elements());
#pragma unroll
    for (uint i = 0; i < 16; i++)
        simdgroup_store(sum[i / 8][i % 8], c + (simd * 16 + i / 8 * 8) * 64 + i % 8 * 8, 64);
}
