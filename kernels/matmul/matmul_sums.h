/*
 * What products whose sums lie in threadgroup memory between two parts of k share: TALL by TN tiles
 * of sums, and the eight by eight of an operand.
 */
#ifndef INGOT_MATMUL_SUMS_H
#define INGOT_MATMUL_SUMS_H

#include "common/tile.h"

/* From `lines`, or zero. */
template <uint TALL, uint TN>
inline void begin_sums(thread simdgroup_float8x8 (&sum)[TALL][TN], threadgroup const float *lines,
                       bool anew) {
#pragma unroll
    for (uint i = 0; i < TALL; i++)
#pragma unroll
        for (uint j = 0; j < TN; j++) {
            if (anew) {
                sum[i][j] = simdgroup_float8x8(0.0f);
            } else {
                simdgroup_load(sum[i][j], lines + (i * TN * TILE + j) * TILE, TN * TILE);
            }
        }
}

template <uint TALL, uint TN>
inline void keep_sums(thread const simdgroup_float8x8 (&sum)[TALL][TN], threadgroup float *lines) {
#pragma unroll
    for (uint i = 0; i < TALL; i++)
#pragma unroll
        for (uint j = 0; j < TN; j++) {
            simdgroup_store(sum[i][j], lines + (i * TN * TILE + j) * TILE, TN * TILE);
        }
}

/* `turned`: memory has its lines as columns. */
template <typename T>
inline simdgroup_matrix<T, 8, 8> load_turned(device const T *from, ulong stride, bool turned) {
    simdgroup_matrix<T, 8, 8> tile;
    if (turned) {
        simdgroup_load(tile, from, stride, ulong2(0), true);
    } else {
        simdgroup_load(tile, from, stride);
    }
    return tile;
}

#endif
