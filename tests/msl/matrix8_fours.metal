// Four SIMD-groups multiply rows of their own by the same tiles with lines of 128 bytes, which GPUs may do by one
// instruction: a and b in threadgroup memory, each with lines along k or across it, or a from device memory.
// RUN: kernel=fours threadgroups=1 group=128
// CONST a_turned: bool = 0
// CONST b_turned: bool = 0
// ARG 0: bf16[8192] = i * 7 % 5 - 2
// ARG 1: bf16[8192] = i * 3 % 7 - 3
// ARG 2: f32[4096]
// TG 0: 8192
// TG 1: 8192
// TG 2: 8192
// TG 3: 8192
// EXPECT 2: f32[4096] = sum(k, 0, 128, ((128 * idiv(i, 64) + k) * 7 % 5 - 2) * ((64 * k + i % 64) * 3 % 7 - 3))
// RUN: kernel=fours threadgroups=1 group=128
// CONST a_turned: bool = 1
// CONST b_turned: bool = 1
// ARG 0: bf16[8192] = i * 7 % 5 - 2
// ARG 1: bf16[8192] = i * 3 % 7 - 3
// ARG 2: f32[4096]
// TG 0: 8192
// TG 1: 8192
// TG 2: 8192
// TG 3: 8192
// EXPECT 2: f32[4096] = sum(k, 0, 128, ((128 * idiv(i, 64) + k) * 7 % 5 - 2) * ((64 * k + i % 64) * 3 % 7 - 3))
// RUN: kernel=fours_of_registers threadgroups=1 group=128
// CONST a_turned: bool = 0
// CONST b_turned: bool = 0
// ARG 0: bf16[8192] = i * 7 % 5 - 2
// ARG 1: bf16[8192] = i * 3 % 7 - 3
// ARG 2: f32[4096]
// TG 0: 8192
// EXPECT 2: f32[4096] = sum(k, 0, 128, ((128 * idiv(i, 64) + k) * 7 % 5 - 2) * ((64 * k + i % 64) * 3 % 7 - 3))
// RUN: kernel=fours_and_one threadgroups=1 group=128
// CONST a_turned: bool = 0
// CONST b_turned: bool = 1
// ARG 0: bf16[8192] = i * 7 % 5 - 2
// ARG 1: bf16[8192] = i * 3 % 7 - 3
// ARG 2: f32[4096]
// TG 0: 8192
// TG 1: 8192
// EXPECT 2: f32[4096] = sum(k, 0, 64, ((128 * idiv(i, 64) + k) * 7 % 5 - 2) * ((64 * k + i % 64) * 3 % 7 - 3)) + 1
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

constant bool a_turned [[function_constant(0)]];
constant bool b_turned [[function_constant(1)]];

inline void full_threadgroups() {
#ifdef __INGOT__
    __ingot_full_threadgroups();
#endif
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

inline void copy(threadgroup bfloat *to, device const bfloat *from, uint stride, bool turned,
                 uint me) {
    for (uint i = me; i < 4096; i += 128)
        to[turned ? i % 64 * 64 + i / 64 : i] = from[i / 64 * stride + i % 64];
}

inline void load_right(thread simdgroup_bfloat8x8 &tile, threadgroup const bfloat *b, uint k,
                       uint j) {
    if (b_turned)
        simdgroup_load(tile, b + j * 8 * 64 + k, 64, ulong2(0), true);
    else
        simdgroup_load(tile, b + k * 64 + j * 8, 64);
}

[[max_total_threads_per_threadgroup(128)]]
kernel void fours(device const bfloat *a [[buffer(0)]], device const bfloat *b [[buffer(1)]],
                  device float *c [[buffer(2)]], threadgroup bfloat *a_0 [[threadgroup(0)]],
                  threadgroup bfloat *b_0 [[threadgroup(1)]],
                  threadgroup bfloat *a_1 [[threadgroup(2)]],
                  threadgroup bfloat *b_1 [[threadgroup(3)]],
                  uint me [[thread_index_in_threadgroup]],
                  uint simd [[simdgroup_index_in_threadgroup]]) {
    full_threadgroups();
    simdgroup_float8x8 sum[2][8];
    clear(sum);
    threadgroup bfloat *a_now = a_0, *b_now = b_0, *a_next = a_1, *b_next = b_1;
    for (uint first = 0; first < 128; first += 64) {
        copy(a_now, a + first, 128, a_turned, me);
        copy(b_now, b + first * 64, 64, b_turned, me);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup const bfloat *left = a_now + simd * 16 * (a_turned ? 1 : 64);
#pragma unroll
        for (uint k = 0; k < 64; k += 16) {
            simdgroup_bfloat8x8 x[2][2], y[2];
#pragma unroll
            for (uint i = 0; i < 2; i++)
#pragma unroll
                for (uint h = 0; h < 2; h++)
                    if (a_turned)
                        simdgroup_load(x[h][i], left + (k + h * 8) * 64 + i * 8, 64, ulong2(0),
                                       true);
                    else
                        simdgroup_load(x[h][i], left + i * 8 * 64 + k + h * 8, 64);
#pragma unroll
            for (uint j = 0; j < 8; j++) {
#pragma unroll
                for (uint h = 0; h < 2; h++)
                    load_right(y[h], b_now, k + h * 8, j);
#pragma unroll
                for (uint i = 0; i < 2; i++)
#pragma unroll
                    for (uint h = 0; h < 2; h++)
                        simdgroup_multiply_accumulate(sum[i][j], x[h][i], y[h], sum[i][j]);
            }
        }
        threadgroup bfloat *a_used = a_now, *b_used = b_now;
        a_now = a_next, a_next = a_used;
        b_now = b_next, b_next = b_used;
    }
    put(sum, c, simd);
}

[[max_total_threads_per_threadgroup(128)]]
kernel void fours_of_registers(device const bfloat *a [[buffer(0)]],
                               device const bfloat *b [[buffer(1)]], device float *c [[buffer(2)]],
                               threadgroup bfloat *panel [[threadgroup(0)]],
                               uint me [[thread_index_in_threadgroup]],
                               uint simd [[simdgroup_index_in_threadgroup]]) {
    full_threadgroups();
    simdgroup_float8x8 sum[2][8];
    clear(sum);
    for (uint first = 0; first < 128; first += 64) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        copy(panel, b + first * 64, 64, b_turned, me);
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint k = 0; k < 64; k += 16) {
            simdgroup_bfloat8x8 x[2][2], y[2];
#pragma unroll
            for (uint i = 0; i < 2; i++)
#pragma unroll
                for (uint h = 0; h < 2; h++)
                    simdgroup_load(x[h][i], a + (simd * 16 + i * 8) * 128 + first + k + h * 8, 128);
#pragma unroll
            for (uint j = 0; j < 8; j++) {
#pragma unroll
                for (uint h = 0; h < 2; h++)
                    load_right(y[h], panel, k + h * 8, j);
#pragma unroll
                for (uint i = 0; i < 2; i++)
#pragma unroll
                    for (uint h = 0; h < 2; h++)
                        simdgroup_multiply_accumulate(sum[i][j], x[h][i], y[h], sum[i][j]);
            }
        }
    }
    put(sum, c, simd);
}

// The sums are looked at one by one.
[[max_total_threads_per_threadgroup(128)]]
kernel void fours_and_one(device const bfloat *a [[buffer(0)]], device const bfloat *b [[buffer(1)]],
                          device float *c [[buffer(2)]],
                          threadgroup bfloat *left [[threadgroup(0)]],
                          threadgroup bfloat *right [[threadgroup(1)]],
                          uint me [[thread_index_in_threadgroup]],
                          uint simd [[simdgroup_index_in_threadgroup]]) {
    full_threadgroups();
    simdgroup_float8x8 sum[2][8];
    clear(sum);
    copy(left, a, 128, a_turned, me);
    copy(right, b, 64, b_turned, me);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_bfloat8x8 one = make_filled_simdgroup_matrix<bfloat, 8, 8>(bfloat(0.125f));
    simdgroup_bfloat8x8 ones = make_filled_simdgroup_matrix<bfloat, 8, 8>(bfloat(1.0f));
#pragma unroll
    for (uint k = 0; k < 64; k += 16) {
        simdgroup_bfloat8x8 x[2][2], y[2];
#pragma unroll
        for (uint i = 0; i < 2; i++)
#pragma unroll
            for (uint h = 0; h < 2; h++)
                simdgroup_load(x[h][i], left + (simd * 16 + i * 8) * 64 + k + h * 8, 64);
#pragma unroll
        for (uint j = 0; j < 8; j++) {
#pragma unroll
            for (uint h = 0; h < 2; h++)
                load_right(y[h], right, k + h * 8, j);
#pragma unroll
            for (uint i = 0; i < 2; i++) {
#pragma unroll
                for (uint h = 0; h < 2; h++)
                    simdgroup_multiply_accumulate(sum[i][j], x[h][i], y[h], sum[i][j]);
                if (k == 48)
                    simdgroup_multiply_accumulate(sum[i][j], one, ones, sum[i][j]);
            }
        }
    }
    put(sum, c, simd);
}
