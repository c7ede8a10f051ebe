// A tile of B that is loaded transposed is loaded as it stands: it would be turned twice.
// WANT: mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.bf16\.bf16\.f32
// NEVER: movmatrix
// WANT: ldmatrix\.sync\.aligned\.m8n8\.x4\.shared\.b16
// NEVER: mma\.sync\.aligned\.m16n8k8
// NEVER: shfl\.sync
// NEVER: \.local
// NEVER: ld\.shared
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

kernel void tiles_turned(device const bfloat *a, device const bfloat *b, device float *c,
                         uint t [[thread_index_in_threadgroup]]) {
    threadgroup bfloat left[16 * 16], right[16 * 16];
    for (uint i = t; i < 256; i += 32) {
        left[i] = a[i];
        right[i] = b[i];
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
            simdgroup_load(x[i], left + 8 * i * 16 + k, 16);
            simdgroup_load(y[i], right + 8 * i * 16 + k, 16, ulong2(0), true);
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
