// What the attention kernels by simdgroup_matrix are made of. A SIMD-group has ROWS tiles of 8 rows
// (queries, or keys) and takes the rows of the other side 32 at a time; nothing is shared between
// SIMD-groups. Sizes that are no multiple of a tile are reached by moving the last block back over
// its neighbour: its own rows are computed twice, and those of the other side that were taken
// before are masked. So there must be at least as many rows as a block has, and head sizes that
// are multiples of 8. Blocks of the other side begin at multiples of 32: what is masked adds
// exactly 0, so that both computations of a row give the same bits.
#ifndef INGOT_KERNELS_COMMON_ATTENTION_TILES_H
#define INGOT_KERNELS_COMMON_ATTENTION_TILES_H

#include "common/attention_lanes.h"
#include <metal_simdgroup_matrix>

constant constexpr uint ATTENTION_OTHERS = 32, ATTENTION_COLUMNS = ATTENTION_OTHERS / 8;

// Each lane holds two neighbours of a row of a tile.
inline uint tile_row(uint lane) {
    return (lane >> 4 & 1u) * 4 + (lane >> 1 & 3u);
}
inline uint tile_column(uint lane) {
    return (lane >> 3 & 1u) * 4 + (lane & 1u) * 2;
}
// Over the four lanes that hold a row of a tile
inline float tile_row_max(float x) {
    x = max(x, simd_shuffle_xor(x, ushort(1)));
    return max(x, simd_shuffle_xor(x, ushort(8)));
}
inline float tile_row_sum(float x) {
    x += simd_shuffle_xor(x, ushort(1));
    return x + simd_shuffle_xor(x, ushort(8));
}

template <uint ROWS, uint TILES> struct attention_tile_sums {
    simdgroup_float8x8 tile[ROWS][TILES];

    inline void clear() {
#pragma unroll
        for (uint r = 0; r < ROWS; r++)
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                tile[r][c] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
            }
    }

    // = own . others, both rows of `depth` elements
    template <typename T>
    inline void product(device const T *own, long own_stride, device const T *others,
                        long other_stride, uint depth) {
        clear();
        for (uint d = 0; d < depth; d += 8) {
            simdgroup_matrix<T, 8, 8> left[ROWS], right[TILES];
#pragma unroll
            for (uint r = 0; r < ROWS; r++) {
                simdgroup_load(left[r], own + 8 * r * own_stride + d, own_stride);
            }
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                simdgroup_load(right[c], others + 8 * c * other_stride + d, other_stride, ulong2(0),
                               true);
            }
#pragma unroll
            for (uint r = 0; r < ROWS; r++)
#pragma unroll
                for (uint c = 0; c < TILES; c++) {
                    simdgroup_multiply_accumulate(tile[r][c], left[r], right[c], tile[r][c]);
                }
        }
    }

    // += weights . others; the weights stay float
    template <typename T>
    inline void add(thread const attention_tile_sums<ROWS, ATTENTION_COLUMNS> &weights,
                    device const T *others, long stride, uint depth) {
#pragma unroll
        for (uint c = 0; c < TILES; c++) {
            if (8 * c < depth) {
#pragma unroll
                for (uint j = 0; j < ATTENTION_COLUMNS; j++) {
                    simdgroup_matrix<T, 8, 8> loaded;
                    simdgroup_float8x8 values;
                    simdgroup_load(loaded, others + 8 * j * stride + 8 * c, stride);
                    values.thread_elements() = float2(loaded.thread_elements());
#pragma unroll
                    for (uint r = 0; r < ROWS; r++) {
                        simdgroup_multiply_accumulate(tile[r][c], weights.tile[r][j], values,
                                                      tile[r][c]);
                    }
                }
            }
        }
    }

    // rows of `depth` elements, those of tile row r times factor[r]
    template <typename T>
    inline void store(device T *to, long stride, uint depth, thread const float *factor) const {
#pragma unroll
        for (uint r = 0; r < ROWS; r++)
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                if (8 * c < depth) {
                    simdgroup_matrix<T, 8, 8> result;
                    result.thread_elements() = vec<T, 2>(tile[r][c].thread_elements() * factor[r]);
                    simdgroup_store(result, to + 8 * r * stride + 8 * c, stride);
                }
            }
    }
};

#endif
