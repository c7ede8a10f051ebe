/* 1 / sqrt(mean(x²) + eps) of a row, from the sum of its squares. */
#ifndef INGOT_KERNELS_COMMON_RMS_H
#define INGOT_KERNELS_COMMON_RMS_H

#include "common/rows.h"

struct row_rms {
    float scale; /* 1, or a power of two that keeps the squares finite */
    float rstd;  /* of the row times scale */
};

/* Squares beyond float32 (elements past 10^19, which float16 has not) are summed again, scaled. A
 * row that is kept is not read again. */
template <int KEEP, typename T>
inline row_rms find_rms(float squares, device const T *row, thread const vec<T, 4> *kept,
                        uint columns, uint blocks, uint me, float eps,
                        threadgroup float *row_shared, uint row_simd, uint row_lane) {
    whole_simdgroups();
    float scale = 1;
    if (!is_same_v<T, half> && squares == INFINITY) {
        scale = 0x1p-80f;
        float4 sums = 0;
        for (uint b = 0; b < blocks; b++) {
            float4 v = (KEEP ? float4(kept[b]) : row_load(row, columns, b, me, 0)) * scale;
            sums = fma(v, v, sums);
        }
        squares = ROW_SUM(sum4(sums));
        eps = eps * scale * scale;
    }
    return {scale, inverse_root(mean_of(squares, columns) + eps)};
}

#endif
