// Lower triangular blocks of up to 64 rows in threadgroup memory, for a threadgroup of 256 threads:
// as three blocks of 32 by 32, each by columns, element (row, column) at column * HALF_LINE + row.
#ifndef INGOT_KERNELS_TRIANGULAR_SMALL_BLOCKS_H
#define INGOT_KERNELS_TRIANGULAR_SMALL_BLOCKS_H

#include "triangular/triangular_args.h"

constexpr constant uint BLOCK = TRIANGULAR_BLOCK, HALF = BLOCK / 2, HALF_LINE = HALF + 4;

// [0] and [2] are the blocks on the diagonal, [1] is the one below the first.
struct small_blocks {
    float half[3][HALF * HALF_LINE];
};

// y, the lane's column of the identity, becomes that of the inverse of a lower block, of which
// `inverse` is one over the diagonal element of the lane's row.
inline void invert_half(threadgroup const float *lower, float inverse, thread float (&y)[HALF]) {
#pragma unroll
    for (uint k = 0; k < HALF; k++) {
        y[k] *= simd_broadcast(inverse, ushort(k));
        threadgroup const float4 *column = (threadgroup const float4 *)(lower + k * HALF_LINE);
#pragma unroll
        for (uint r = k / 4; r < HALF / 4; r++) {
            const float4 four = column[r];
#pragma unroll
            for (uint i = 0; i < 4; i++) {
                if (4 * r + i > k) {
                    y[4 * r + i] = fma(-four[i], y[k], y[4 * r + i]);
                }
            }
        }
    }
}

// The lane's column of a half, from or to its registers.
inline void store_half(threadgroup float *half, thread const float (&y)[HALF], uint lane) {
#pragma unroll
    for (uint r = 0; r < HALF / 4; r++) {
        *(threadgroup float4 *)(half + lane * HALF_LINE + 4 * r) =
            float4(y[4 * r], y[4 * r + 1], y[4 * r + 2], y[4 * r + 3]);
    }
}

// Rows first .. first + 3 and column `lane` of to = sign * left * right, or to += with `add`.
// `transposed`: right is stored by rows. `to` is neither of the others; callers put barriers
// around.
template <bool transposed, bool add>
inline void multiply_half(threadgroup float *to, threadgroup const float *left,
                          threadgroup const float *right, float sign, uint first, uint lane) {
    float4 sums = 0;
#pragma unroll
    for (uint k = 0; k < HALF; k += 4) {
        float4 x;
        if (transposed) {
#pragma unroll
            for (uint i = 0; i < 4; i++) {
                x[i] = right[(k + i) * HALF_LINE + lane];
            }
        } else {
            x = *(threadgroup const float4 *)(right + lane * HALF_LINE + k);
        }
#pragma unroll
        for (uint i = 0; i < 4; i++) {
            sums = fma(*(threadgroup const float4 *)(left + (k + i) * HALF_LINE + first),
                       float4(x[i]), sums);
        }
    }
    threadgroup float4 *at = (threadgroup float4 *)(to + lane * HALF_LINE + first);
    *at = add ? fma(float4(sign), sums, *at) : sign * sums;
}

// inverse[1] from inverse[0] and [2]: -i22 (l21 i11). Overwrites lower[0]. A barrier before and
// after.
inline void join_halves(threadgroup small_blocks &lower, threadgroup small_blocks &inverse,
                        uint simd, uint lane) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply_half<false, false>(lower.half[0], lower.half[1], inverse.half[0], 1, 4 * simd, lane);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    multiply_half<false, false>(inverse.half[1], inverse.half[2], lower.half[0], -1, 4 * simd,
                                lane);
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

// The inverse of a whole block. Overwrites lower[0]. A barrier before and after.
inline void invert_small_block(threadgroup small_blocks &lower, threadgroup small_blocks &inverse,
                               uint simd, uint lane) {
    if (simd < 2) {
        threadgroup const float *own = lower.half[2 * simd];
        float y[HALF];
#pragma unroll
        for (uint k = 0; k < HALF; k++) {
            y[k] = k == lane ? 1 : 0;
        }
        invert_half(own, 1 / own[lane * (HALF_LINE + 1)], y);
        store_half(inverse.half[2 * simd], y, lane);
    }
    join_halves(lower, inverse, simd, lane);
}

// Element (row, column) of the lower block, or 0 above the diagonal of halves.
inline float small_block_at(threadgroup const small_blocks &blocks, uint row, uint column) {
    if (row < HALF && column >= HALF) {
        return 0;
    }
    return blocks.half[row / HALF + column / HALF][column % HALF * HALF_LINE + row % HALF];
}

#endif
