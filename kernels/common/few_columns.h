/*
 * Kernels over rows of few columns, for CPUs: a lane has a column of each CHUNK of 32, and a
 * SIMD-group takes several rows at a time. Their sums do not wait for each other, and nothing is
 * gathered, as where a lane has a row. Past the last row it is taken once more: all loads stand
 * before the stores.
 */
#ifndef INGOT_KERNELS_COMMON_FEW_COLUMNS_H
#define INGOT_KERNELS_COMMON_FEW_COLUMNS_H

#include "common/few_columns_args.h"
#include "common/memory_hints.h"
#include "common/reduce.h"

/* Some rows of a matrix: those of a SIMD-group. */
template <uint CHUNKS> struct few_rows {
    static constexpr constant uint ROWS = FEW_ROWS / CHUNKS;
    float at[ROWS][CHUNKS];
};

/* Where a SIMD-group works. */
struct few_place {
    ulong first, rows;
    uint columns, lane;
};

inline ulong few_row(few_place place, uint i) {
    return min(place.first + i, place.rows - 1);
}

/* Rows that come soon: each load of the unrolled code skips many, which the hardware does not see
 * through. */
template <uint CHUNKS, typename T>
inline void few_ahead(device const T *x, ulong stride, few_place place) {
    prefetch<few_rows<CHUNKS>::ROWS * CHUNKS * 32>(
        x + min(place.first + FEW_AHEAD, place.rows - 1) * stride);
}

/* A chunk that is full needs no mask; `fill` stands past the end of a row. */
template <uint CHUNKS, typename T>
inline few_rows<CHUNKS> few_load(device const T *x, ulong stride, few_place place, float fill = 0) {
    few_rows<CHUNKS> v;
    for (uint c = 0; c < CHUNKS; c++) {
        const uint column = c * 32 + place.lane;
        if ((c + 1) * 32 <= place.columns) {
            for (uint i = 0; i < v.ROWS; i++) {
                v.at[i][c] = float(x[few_row(place, i) * stride + column]);
            }
        } else {
            for (uint i = 0; i < v.ROWS; i++) {
                v.at[i][c] =
                    column < place.columns ? float(x[few_row(place, i) * stride + column]) : fill;
            }
        }
    }
    return v;
}

/* The sum of each row. */
template <uint CHUNKS> inline void few_sums(few_rows<CHUNKS> v, thread float *sums) {
    for (uint i = 0; i < v.ROWS; i++) {
        float sum = v.at[i][0];
        for (uint c = 1; c < CHUNKS; c++) {
            sum += v.at[i][c];
        }
        sums[i] = simd_sum(sum);
    }
}

/* The logarithms of numbers that all lanes have: a lane takes one of them. */
template <uint COUNT> inline void few_logs(thread float *numbers, uint lane) {
    float mine = numbers[0];
    for (uint i = 1; i < COUNT; i++) {
        mine = lane == i ? numbers[i] : mine;
    }
    mine = log(mine);
    for (uint i = 0; i < COUNT; i++) {
        numbers[i] = simd_broadcast(mine, ushort(i));
    }
}

/* The greatest of each row. */
template <uint CHUNKS> inline void few_tops(few_rows<CHUNKS> v, thread float *tops) {
    for (uint i = 0; i < v.ROWS; i++) {
        float top = v.at[i][0];
        for (uint c = 1; c < CHUNKS; c++) {
            top = greater(v.at[i][c], top);
        }
        tops[i] = simd_max(top);
    }
}

template <uint CHUNKS, typename T>
inline void few_store(device T *x, ulong stride, few_place place, few_rows<CHUNKS> v) {
    for (uint c = 0; c < CHUNKS; c++) {
        const uint column = c * 32 + place.lane;
        if ((c + 1) * 32 <= place.columns) {
            for (uint i = 0; i < v.ROWS; i++) {
                x[few_row(place, i) * stride + column] = T(v.at[i][c]);
            }
        } else {
            for (uint i = 0; i < v.ROWS; i++) {
                if (column < place.columns) {
                    x[few_row(place, i) * stride + column] = T(v.at[i][c]);
                }
            }
        }
    }
}

#define INSTANTIATE_FEW(kernel, chunks, CHUNKS)                                                    \
    INSTANTIATE_KERNEL(#kernel "_" chunks "_f32", kernel<float, CHUNKS>)                           \
    INSTANTIATE_KERNEL(#kernel "_" chunks "_f16", kernel<half, CHUNKS>)                            \
    INSTANTIATE_KERNEL(#kernel "_" chunks "_bf16", kernel<bfloat, CHUNKS>)

#endif
