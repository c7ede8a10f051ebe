// Rows of 36 bytes are no multiples of 16: tiles are loaded by words, and B is turned once for all rows.
// WANT: mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32
// WANT: movmatrix\.sync\.aligned\.m8n8\.trans\.b16
// WANT: ld\.shared\.(u32|b32|v2\.b16)
// NEVER: ldmatrix
// NEVER: mma\.sync\.aligned\.m16n8k8
// NEVER: shfl\.sync
// NEVER: \.local
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

kernel void tiles_odd(device const bfloat *a, device const bfloat *b, device float *c,
                      uint t [[thread_index_in_threadgroup]]) {
    threadgroup bfloat left[16 * 18], right[16 * 18];
    for (uint i = t; i < 256; i += 32) {
        left[i / 16 * 18 + i % 16] = a[i];
        right[i / 16 * 18 + i % 16] = b[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_float8x8 sums[2][2];
    for (uint i = 0; i < 2; i++) {
        for (uint j = 0; j < 2; j++) {
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
        }
    }
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_bfloat8x8 x[2], y[2];
        for (uint i = 0; i < 2; i++) {
            simdgroup_load(x[i], left + 8 * i * 18 + k, 18);
            simdgroup_load(y[i], right + k * 18 + 8 * i, 18);
        }
        for (uint i = 0; i < 2; i++) {
            for (uint j = 0; j < 2; j++) {
                simdgroup_multiply_accumulate(sums[i][j], x[i], y[j], sums[i][j]);
            }
        }
    }
    for (uint i = 0; i < 2; i++) {
        for (uint j = 0; j < 2; j++) {
            simdgroup_store(sums[i][j], c + 8 * i * 16 + 8 * j, 16);
        }
    }
}
