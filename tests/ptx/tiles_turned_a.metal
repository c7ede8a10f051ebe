// A tile of A that is loaded transposed is turned by its load.
// WANT: mma\.sync\.aligned\.m16n8k16\.row\.col\.f32\.f16\.f16\.f32
// WANT: ldmatrix\.sync\.aligned\.m8n8\.x4\.trans\.shared\.b16
// NEVER: movmatrix
// NEVER: shfl\.sync
// NEVER: ld\.shared
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

kernel void tiles_turned_a(device const uint4 *a, device const uint4 *b, device float *c,
                           uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint4 left_pieces[32], right_pieces[32];
    left_pieces[t] = a[t];
    right_pieces[t] = b[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup const half *left = (threadgroup const half *)left_pieces;
    threadgroup const half *right = (threadgroup const half *)right_pieces;
    simdgroup_float8x8 sums[2];
    for (uint i = 0; i < 2; i++)
        sums[i] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    for (uint k = 0; k < 16; k += 8) {
        simdgroup_half8x8 x[2], y;
        simdgroup_load(y, right + k * 16, 16);
        for (uint i = 0; i < 2; i++)
            simdgroup_load(x[i], left + k * 16 + 8 * i, 16, ulong2(0), true);
        for (uint i = 0; i < 2; i++)
            simdgroup_multiply_accumulate(sums[i], x[i], y, sums[i]);
    }
    for (uint i = 0; i < 2; i++)
        simdgroup_store(sums[i], c + 8 * i * 8, 8);
}
