// Not products of four SIMD-groups: the kernel does not promise whole threadgroups; tiles of b are others in each SIMD-group; not
// all SIMD-groups get there; lines are not of 128 bytes.
// TARGETS: sm_90a
// NEVER: wgmma
// NEVER: reqntid
// WANT: mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

inline void multiply(thread simdgroup_float8x8 (&sum)[2][8], threadgroup const bfloat *a,
                     threadgroup const bfloat *b, uint line) {
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
                simdgroup_load(y[h], b + (k + h * 8) * line + j * 8, line);
#pragma unroll
            for (uint i = 0; i < 4; i++)
                simdgroup_multiply_accumulate(sum[i / 2][j], x[i % 2][i / 2], y[i % 2],
                                              sum[i / 2][j]);
        }
    }
}

inline void clear(thread simdgroup_float8x8 (&sum)[2][8]) {
#pragma unroll
    for (uint i = 0; i < 2; i++)
#pragma unroll
        for (uint j = 0; j < 8; j++)
            sum[i][j] = simdgroup_float8x8(0.0f);
}

inline void put(thread simdgroup_float8x8 (&sum)[2][8], device float *c, uint simd) {
#pragma unroll
    for (uint i = 0; i < 2; i++)
#pragma unroll
        for (uint j = 0; j < 8; j++)
            simdgroup_store(sum[i][j], c + (simd * 16 + i * 8) * 64 + j * 8, 64);
}

#define KERNEL(name)                                                                               \
    [[max_total_threads_per_threadgroup(128)]]                                                     \
    kernel void name(device const bfloat *from, device float *c,                                   \
                     threadgroup bfloat *a [[threadgroup(0)]],                                     \
                     threadgroup bfloat *b [[threadgroup(1)]], constant uint &n [[buffer(2)]],     \
                     uint me [[thread_index_in_threadgroup]],                                      \
                     uint simd [[simdgroup_index_in_threadgroup]])

KERNEL(without_promise) {
    simdgroup_float8x8 sum[2][8];
    clear(sum);
    a[me] = b[me] = from[me];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply(sum, a + simd * 1024, b, 64);
    put(sum, c, simd);
}

KERNEL(other_tiles) {
    __ingot_full_threadgroups();
    simdgroup_float8x8 sum[2][8];
    clear(sum);
    a[me] = b[me] = from[me];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply(sum, a + simd * 1024, b + simd * 4096, 64);
    put(sum, c, simd);
}

KERNEL(some_simdgroups) {
    __ingot_full_threadgroups();
    simdgroup_float8x8 sum[2][8];
    clear(sum);
    a[me] = b[me] = from[me];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simd < n)
        multiply(sum, a + simd * 1024, b, 64);
    put(sum, c, simd);
}

KERNEL(other_lines) {
    __ingot_full_threadgroups();
    simdgroup_float8x8 sum[2][8];
    clear(sum);
    a[me] = b[me] = from[me];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply(sum, a + simd * 1024, b, 72);
    put(sum, c, simd);
}
