// C = A * B for square matrices whose size is a multiple of 32: each SIMD-group makes a tile of
// 16×16 out of four 8×8 simdgroup matrices, and four SIMD-groups make a block of 32×32.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
using namespace metal;

kernel void matmul(device const float *a [[buffer(0)]],
                   device const float *b [[buffer(1)]],
                   device float *c [[buffer(2)]],
                   constant uint &n [[buffer(3)]],
                   uint2 block [[threadgroup_position_in_grid]],
                   uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint row = block.y * 32 + (simdgroup / 2) * 16;
    uint column = block.x * 32 + (simdgroup % 2) * 16;
    simdgroup_float8x8 sums[2][2];
    for (uint i = 0; i < 2; i++)
        for (uint j = 0; j < 2; j++)
            sums[i][j] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);

    for (uint k = 0; k < n; k += 8) {
        simdgroup_float8x8 left[2], right[2];
        for (uint i = 0; i < 2; i++) {
            simdgroup_load(left[i], a + (row + 8 * i) * n + k, n);
            simdgroup_load(right[i], b + k * n + column + 8 * i, n);
        }
        for (uint i = 0; i < 2; i++)
            for (uint j = 0; j < 2; j++)
                simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
    }
    for (uint i = 0; i < 2; i++)
        for (uint j = 0; j < 2; j++)
            simdgroup_store(sums[i][j], c + (row + 8 * i) * n + column + 8 * j, n);
}
