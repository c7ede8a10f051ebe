/* Tiles of the right side that lie as matrix units of CPUs take them: two rows interleaved. */
#ifndef INGOT_KERNELS_COMMON_TILE_PAIRS_H
#define INGOT_KERNELS_COMMON_TILE_PAIRS_H

#include "common/tile.h"

/* Row r, column c of the tile is from[r / 2 * stride + 2 * c + r % 2]. */
#ifdef __INGOT__
#define LOAD_PAIRS(space)                                                                          \
    template <typename T>                                                                          \
    inline void load_pairs(thread simdgroup_matrix<T, 8, 8> &tile, space const T *from,            \
                           ulong stride) {                                                         \
        space const ushort *words = (space const ushort *)from;                                    \
        ushort low = __ingot_simdgroup_load_pairs_##space##_b16(words, stride, false, 0);          \
        ushort high = __ingot_simdgroup_load_pairs_##space##_b16(words, stride, false, 1);         \
        tile.thread_elements() = vec<T, 2>(as_type<T>(low), as_type<T>(high));                     \
    }
#else
#define LOAD_PAIRS(space)                                                                          \
    template <typename T>                                                                          \
    inline void load_pairs(thread simdgroup_matrix<T, 8, 8> &tile, space const T *from,            \
                           ulong stride) {                                                         \
        uint lane = simd_prefix_exclusive_sum(1u);                                                 \
        uint r = (lane >> 4 & 1u) * 4 + (lane >> 1 & 3u);                                          \
        from += r / 2 * stride + 2 * ((lane >> 3 & 1u) * 4 + (lane & 1u) * 2) + r % 2;             \
        tile.thread_elements() = vec<T, 2>(from[0], from[2]);                                      \
    }
#endif
LOAD_PAIRS(device)
LOAD_PAIRS(threadgroup)
#undef LOAD_PAIRS

#endif
