/*
 * What products whose sums lie in threadgroup memory between two parts of k share: TALL by TN tiles
 * of sums, and the eight by eight of an operand.
 */
#ifndef INGOT_MATMUL_SUMS_H
#define INGOT_MATMUL_SUMS_H

#include "common/memory_hints.h"
#include "common/tile.h"
#include "common/tile_pairs.h"
#include "matmul/matmul_finish.h"

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

/* Straight to the result. */
template <typename T, uint TALL, uint TN>
inline void put_sums(thread simdgroup_float8x8 (&sum)[TALL][TN], device T *out, ulong stride) {
#pragma unroll
    for (uint i = 0; i < TALL; i++) {
#pragma unroll
        for (uint j = 0; j < TN; j++) {
            simdgroup_matrix<T, 8, 8> rounded;
            const float2 own = sum[i][j].thread_elements();
            rounded.thread_elements() =
                vec<T, 2>(rounded_products<T>(own.x), rounded_products<T>(own.y));
            simdgroup_store(rounded, out + (i * stride + j) * TILE, stride);
        }
    }
}

/* ---- a right side of 16 bits with two of k interleaved: words [k / 2][columns] ---- */

constexpr constant uint PAIR_SPARE = 8 * 32; /* elements of 16 bits */

/* Two of k of rows that lie [k][n]; zeros from `depth` and `columns` on. */
template <typename T>
inline uint interleaved(device const T *from, ulong stride, uint depth, uint columns, uint lane) {
    device const ushort *low = (device const ushort *)from, *high = low + stride;
    const bool inside = depth && lane < columns;
    uint word = inside ? low[lane] : 0;
    if (depth > 1) {
        word |= inside ? uint(high[lane]) << 16 : 0;
    }
    return word;
}

/* Eight of k of WIDTH columns, to four lines of words. */
template <uint WIDTH, typename W, typename T>
inline void interleave_rows(W to, device const T *from, ulong stride, uint depth, uint columns,
                            uint lane) {
    if (depth >= TILE && columns >= WIDTH) {
#pragma unroll
        for (uint k = 0; k < TILE; k += 2) {
            device const ushort *low = (device const ushort *)from + k * stride;
#pragma unroll
            for (uint c = 0; c < WIDTH; c += 32) {
                if (c + lane < WIDTH) {
                    to[k / 2 * WIDTH + c + lane] = low[c + lane] | uint(low[stride + c + lane])
                                                                       << 16;
                }
            }
            prefetch<WIDTH>(from + (k + 2 * TILE) * stride);
            prefetch<WIDTH>(from + (k + 2 * TILE + 1) * stride);
        }
        return;
    }
    for (uint k = 0; k < TILE; k += 2) {
        for (uint c = 0; c < WIDTH; c += 32) {
            const uint there = k < depth ? depth - k : 0;
            const uint word = interleaved(from + (there ? k : 0) * stride + c, stride, there,
                                          c < columns ? columns - c : 0, lane);
            if (c + lane < WIDTH) {
                to[k / 2 * WIDTH + c + lane] = word;
            }
        }
    }
}

/* 32 of k of 8 columns that lie [n][k], two of k as one word, by way of `spare`: 16 of k of all
 * columns, then the others, so that what is loaded at once was stored at once. */
template <typename T>
inline void interleave_turned(thread simdgroup_float8x8 (&words)[2], device const T *from,
                              ulong stride, uint depth, uint columns, threadgroup ushort *spare,
                              uint lane) {
    device const ushort *line = (device const ushort *)from;
    const bool whole = columns >= TILE && depth >= 32;
    simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint c = 0; c < TILE; c++) {
        ushort own;
        if (whole) {
            own = line[c * stride + lane];
            prefetch<32>(line + (TILE + c) * stride); // which are next
        } else {
            own = c < columns && lane < depth ? line[c * stride + lane] : 0;
        }
        if (lane < 16) {
            spare[c * 16 + lane] = own;
        } else {
            spare[(TILE + c) * 16 + lane - 16] = own;
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_load(words[0], (threadgroup float *)spare, TILE, ulong2(0), true);
    simdgroup_load(words[1], (threadgroup float *)spare + TILE * TILE, TILE, ulong2(0), true);
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
