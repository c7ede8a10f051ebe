/* Products of 32 by 32 by 32 elements, of which the compiler makes four instructions for matrix
 * units of CPUs (x86-64-v4-bf16-amx), or many of another kind (aarch64-bf16).
 *
 * The units take bfloat. A half is the sum of two bfloat, its upper and its lower part, so a
 * product of halves is four of bfloat, each exact in float as the halves' own would be. */
#ifndef INGOT_KERNELS_COMMON_TILE_UNITS_H
#define INGOT_KERNELS_COMMON_TILE_UNITS_H

#include "common/tile_pairs.h"

constexpr constant uint UNIT_SIDE = 32, UNIT_TILES = UNIT_SIDE / TILE;

/* What the units take of a T: so many bfloat. */
template <typename T> constexpr constant uint unit_parts = 1;
template <> constexpr constant uint unit_parts<half> = 2;

/* The upper part (low half of the word) and the lower one. The upper one is cut off, not rounded,
 * so the lower one has its sign; and it is never zero where the half is not, but at least the least
 * normal number, far below what a sum of halves' products shows. So a product with an infinity has
 * no term that is NaN, or of the other sign, but those that should be. */
inline uint unit_halves(half value) {
    constexpr uint SIGN = 0x80000000u, LEAST = 0x00800000u, MOST = 0x7f000000u;
    const uint bits = as_type<uint>(float(value)), upper = bits & 0xffff0000u;
    const uint rest = as_type<uint>(float(value) - as_type<float>(upper)) & ~SIGN;
    const uint lower = max(min(rest, MOST), min(bits & ~SIGN, LEAST)); // of an infinity: MOST
    return upper >> 16 | lower | (bits & SIGN);
}

/* An element in its place among those of a block, and its lower part in the block after. */
#define PLACE_UNIT(space)                                                                          \
    inline void place_halves(space bfloat *to, uint both) {                                        \
        to[0] = as_type<bfloat>(ushort(both));                                                     \
        to[UNIT_SIDE * UNIT_SIDE] = as_type<bfloat>(ushort(both >> 16));                           \
    }                                                                                              \
    inline void place_unit(space bfloat *to, bfloat value) {                                       \
        *to = value;                                                                               \
    }                                                                                              \
    inline void place_unit(space bfloat *to, half value) {                                         \
        place_halves(to, unit_halves(value));                                                      \
    }
PLACE_UNIT(device)
PLACE_UNIT(threadgroup)
#undef PLACE_UNIT

/* sum += left right, over `depth`, a multiple of 32 that is not 0: a loop that may not run at all
 * would merge sums. Lines of left are `stride` apart, what belongs to neighbours in depth ALONG;
 * right lies by pairs. With
 * PARTS of 2 each block of 32 in depth is there twice, its upper parts and then its lower ones, and
 * ALONG is 32. */
template <uint ALONG, typename T, uint PARTS = 1, typename Left, typename Right>
inline void add_by_units(thread simdgroup_float8x8 (&sum)[UNIT_TILES][UNIT_TILES], Left left,
                         ulong stride, Right right, uint depth) {
    uint k = 0;
#pragma clang loop unroll(disable)
    do {
        simdgroup_matrix<T, 8, 8> rows[UNIT_TILES][UNIT_TILES], columns[UNIT_TILES][UNIT_TILES];
        uint k_left = k, k_right = k;
        if constexpr (PARTS ==
                      2) { // upper and upper, upper and lower, lower and upper, lower and lower
            const uint turn = k / UNIT_SIDE, block = turn / 4 * 2;
            k_left = (block + turn / 2 % 2) * UNIT_SIDE;
            k_right = (block + turn % 2) * UNIT_SIDE;
        }
#pragma unroll
        for (uint i = 0; i < UNIT_TILES; i++)
#pragma unroll
            for (uint s = 0; s < UNIT_TILES; s++) {
                simdgroup_load(rows[i][s], left + k_left * ALONG + i * TILE * stride + s * TILE,
                               stride);
                load_pairs(columns[s][i],
                           right + k_right * UNIT_SIDE + s * (TILE / 2) * (2 * UNIT_SIDE) +
                               i * 2 * TILE,
                           2 * UNIT_SIDE);
            }
#pragma unroll
        for (uint s = 0; s < UNIT_TILES; s++)
#pragma unroll
            for (uint i = 0; i < UNIT_TILES; i++)
#pragma unroll
                for (uint j = 0; j < UNIT_TILES; j++) {
                    simdgroup_multiply_accumulate(sum[i][j], rows[i][s], columns[s][j], sum[i][j]);
                }
        k += UNIT_SIDE;
    } while (k < depth * PARTS * PARTS);
}

#endif
