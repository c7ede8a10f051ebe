/*
 * Products on CPUs whose vector registers hold the sums of 8 rows by 48 columns.
 *
 * A panel of the right side, some of k by all columns of a block, comes into threadgroup memory,
 * where it fits the first-level cache, whichever way it lies. Then one row of tiles after the other
 * goes through it; between two panels its sums lie in threadgroup memory, so that the loop itself
 * has nothing but products. Of the left side 32 of k at a time go through threadgroup memory:
 * lines of a matrix often lie a power of two apart, and would share few places of the cache.
 * The right side is not laid out anew in memory, nor is the left one, unless it lies [k][m] and
 * is used often: then as [m / 8][k][8] (matmul_pack_a).
 */
#ifndef INGOT_KERNELS_MATMUL_PANELS_H
#define INGOT_KERNELS_MATMUL_PANELS_H

#include "common/memory_hints.h"
#include "common/threadgroups.h"
#include "common/tile.h"
#include "matmul/matmul_finish.h"
#include "matmul/matmul_sums.h"

constexpr constant uint PANEL_LINE = 32; /* of k of the left side at a time */

/* Threadgroup memory, 32 KiB in all: the sums, a panel, and two times PANEL_LINE of k of TALL rows
 * of tiles. A panel is [k][columns], of bfloat [k / 2][columns][2]. */
template <typename P, uint TM, uint TALL, uint TN> struct panel_memory {
    static constexpr constant uint WIDTH = TN * TILE, HEIGHT = TM * TILE;
    static constexpr constant uint ROOM = TALL * TILE * PANEL_LINE, SUMS = HEIGHT * WIDTH;
    static constexpr constant uint SPARE = sizeof(P) == 2 ? PAIR_SPARE : 0; // else as `rooms`
    static constexpr constant uint LEFT = (32768 - 4 * SUMS) / sizeof(P) - 2 * ROOM - SPARE;
    static constexpr constant uint DEPTH = LEFT / WIDTH / PANEL_LINE * PANEL_LINE; // of k
    static constexpr constant uint FLOATS =
        SUMS + (DEPTH * WIDTH + 2 * ROOM + SPARE) * sizeof(P) / 4;
    static constexpr constant uint TURNED = WIDTH < 16 ? WIDTH : 16; // columns on their way out
    static_assert(TURNED * HEIGHT * 4 <= DEPTH * WIDTH * sizeof(P), "room for turned sums");
};

/* to[l][x] = from[l * stride + x] for a tile's lines l and places x, 0 from `lines` and `across`
 * on; `turned`: from[x * stride + l]. */
template <typename T, typename P>
inline void stage_tile(threadgroup P *to, uint to_stride, device const T *from, ulong stride,
                       bool turned, uint lines, uint across, threadgroup P *spare, uint lane) {
    simdgroup_matrix<P, 8, 8> staged;
    if (lines >= TILE && across >= TILE) {
        simdgroup_matrix<T, 8, 8> tile = load_turned(from, stride, turned);
        staged.thread_elements() = vec<P, 2>(tile.thread_elements());
    } else if (!lines || !across) {
        staged = simdgroup_matrix<P, 8, 8>(P(0));
    } else if (!turned) {
        for (uint r = 0; r < TILE; r++) {
            if (lane < TILE) {
                to[r * to_stride + lane] =
                    r < lines && lane < across ? P(from[r * stride + lane]) : P(0);
            }
        }
        return;
    } else {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint r = 0; r < TILE; r++) {
            if (lane < TILE) {
                spare[r * TILE + lane] =
                    r < across && lane < lines ? P(from[r * stride + lane]) : P(0);
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_load(staged, spare, TILE, ulong2(0), true);
    }
    simdgroup_store(staged, to, to_stride);
}

/* A right side from its first column of the block on. */
template <uint WIDTH, typename T, typename P>
inline void stage_right(threadgroup P *panel, device const T *from, ulong stride, bool turned,
                        uint depth, uint columns, threadgroup P *spare, uint lane) {
    if (turned) {
        for (uint c = 0; c < WIDTH; c += TILE) {
            uint across = c < columns ? columns - c : 0;
            for (uint k = 0; k < depth; k += TILE) {
                stage_tile(panel + k * WIDTH + c, WIDTH, from + c * stride + k, stride, true,
                           depth - k, across, spare, lane);
            }
        }
        return;
    }
    for (uint k = 0; k < depth; k += TILE) {
        for (uint c = 0; c < WIDTH; c += TILE) {
            uint across = c < columns ? columns - c : 0;
            stage_tile(panel + k * WIDTH + c, WIDTH, from + k * stride + c, stride, false,
                       depth - k, across, spare, lane);
        }
    }
}

/* The same of bfloat, two of k interleaved; k in whole tiles. */
template <uint WIDTH, typename T>
inline void stage_pairs(threadgroup T *panel, device const T *from, ulong stride, bool turned,
                        uint depth, uint columns, threadgroup T *spare, uint lane) {
    if (turned) {
        for (uint c = 0; c < WIDTH; c += TILE) {
            threadgroup float *to = (threadgroup float *)panel + c;
            for (uint k = 0; k < depth; k += 32) {
                simdgroup_float8x8 words[2];
                interleave_turned(words, from + c * stride + k, stride, depth - k,
                                  c < columns ? columns - c : 0, (threadgroup ushort *)spare, lane);
                simdgroup_store(words[0], to + k / 2 * WIDTH, WIDTH);
                simdgroup_store(words[1], to + (k / 2 + TILE) * WIDTH, WIDTH);
            }
        }
        return;
    }
    threadgroup uint *to = (threadgroup uint *)panel;
    for (uint k = 0; k < depth; k += TILE) {
        interleave_rows<WIDTH>(to + k / 2 * WIDTH, from + k * stride, stride, depth - k, columns,
                               lane);
    }
}

/* 32 of k of TALL rows of tiles: each as [8][32], or, if it lies [k][m], as [32][8]; of bfloat
 * always as [8][32], as products want pairs. `ahead`: what
 * is below is asked for, which pays for a left side that is read once or twice. */
template <uint TALL, typename T, typename P>
inline void stage_left(threadgroup P *room, device const T *from, ulong stride, bool turned,
                       uint rows, uint depth, bool ahead, threadgroup P *spare, uint lane) {
    if (turned) {
        for (uint i = 0; i < TALL * TILE; i += TILE) {
            for (uint k = 0; k < PANEL_LINE; k += TILE) {
                uint there = k < depth ? depth - k : 0, across = i < rows ? rows - i : 0;
                if (sizeof(P) == 2) {
                    stage_tile(room + i * PANEL_LINE + k, PANEL_LINE, from + k * stride + i, stride,
                               true, across, there, spare, lane);
                } else {
                    stage_tile(room + i * PANEL_LINE + k * TILE, TILE, from + k * stride + i,
                               stride, false, there, across, spare, lane);
                }
            }
        }
        return;
    }
    if (TALL * TILE <= rows && PANEL_LINE <= depth) {
#pragma unroll
        for (uint r = 0; r < TALL * TILE; r++) {
            room[r * PANEL_LINE + lane] = P(from[r * stride + lane]);
        }
        if (ahead) {
            for (uint r = TALL * TILE; r < 2 * TALL * TILE; r++) {
                prefetch<PANEL_LINE>(from + r * stride);
            }
        }
        return;
    }
    const bool inside = lane < depth;
    if (TALL * TILE <= rows) {
#pragma unroll
        for (uint r = 0; r < TALL * TILE; r++) {
            room[r * PANEL_LINE + lane] = inside ? P(from[r * stride + lane]) : P(0);
        }
        return;
    }
    for (uint r = 0; r < TALL * TILE; r++) {
        room[r * PANEL_LINE + lane] = r < rows && inside ? P(from[r * stride + lane]) : P(0);
    }
}

/* TALL by TN tiles; between two panels they lie in `lines`. */
template <typename P, uint TALL, uint TN> struct panel_sums {
    static constexpr constant uint WIDTH = TN * TILE;
    simdgroup_float8x8 sum[TALL][TN];

    void begin(threadgroup const float *lines, bool anew) thread {
        begin_sums(sum, lines, anew);
    }
    void keep(threadgroup float *lines) thread {
        keep_sums(sum, lines);
    }
    /* `depth` of k, a multiple of 8. */
    template <bool TURNED>
    void add(threadgroup const P *left, threadgroup const P *right, uint depth) thread {
        for (uint k = 0; k < depth; k += TILE) {
            simdgroup_matrix<P, 8, 8> rows[TALL], columns[TN];
#pragma unroll
            for (uint i = 0; i < TALL; i++) {
                threadgroup const P *from = left + i * TILE * PANEL_LINE;
                if (TURNED) {
                    simdgroup_load(rows[i], from + k * TILE, TILE, ulong2(0), true);
                } else {
                    simdgroup_load(rows[i], from + k, PANEL_LINE);
                }
            }
#pragma unroll
            for (uint j = 0; j < TN; j++) {
                if constexpr (sizeof(P) == 2) {
                    load_pairs(columns[j], right + k * WIDTH + j * (2 * TILE), 2 * WIDTH);
                } else {
                    simdgroup_load(columns[j], right + k * WIDTH + j * TILE, WIDTH);
                }
            }
#pragma unroll
            for (uint i = 0; i < TALL; i++)
#pragma unroll
                for (uint j = 0; j < TN; j++) {
                    simdgroup_multiply_accumulate(sum[i][j], rows[i], columns[j], sum[i][j]);
                }
        }
    }
};

/* A SIMD-group makes TM by TN tiles, TALL rows of tiles at a time. */
template <typename T, typename P, uint TM, uint TALL, uint TN>
kernel void matmul_panels(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                          device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                          device uchar *parts [[buffer(4)]],
                          constant matmul_args &args [[buffer(5)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    using self = panel_memory<P, TM, TALL, TN>;
    whole_simdgroups();
    constexpr uint WIDTH = self::WIDTH, HEIGHT = self::HEIGHT, DEPTH = self::DEPTH;
    threadgroup float lines[self::FLOATS];
    threadgroup P *panel = (threadgroup P *)(lines + self::SUMS), *rooms = panel + DEPTH * WIDTH;
    threadgroup P *spare = self::SPARE ? rooms + 2 * self::ROOM : rooms;
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint row0 = group.y * HEIGHT, column0 = group.x * WIDTH;
    uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    uint rows = min(args.m - row0, HEIGHT), columns = min(args.n - column0, WIDTH);
    ulong a_row = args.a_transposed ? 1 : args.a_stride;
    ulong a_step = args.a_transposed ? args.a_stride : 1;
    if (args.a_transposed == 2) {
        a_row = (args.k + (TILE - 1)) & ~(TILE - 1);
    }
    ulong b_step = args.b_transposed ? 1 : args.b_stride;
    a += matrix * args.a_batch + row0 * a_row;
    b += matrix * args.b_batch + column0 * (args.b_transposed ? args.b_stride : 1);
    out += matrix * args.out_batch;
    bool ahead = args.n <= 128;
    // rows that go out as they are
    uint straight = sizeof(P) == 2 && has_straight_way(args) && columns == WIDTH
                        ? rows & ~(TALL * TILE - 1)
                        : 0;
    for (uint k0 = first; k0 < end; k0 += DEPTH) {
        uint last = min(end, k0 + DEPTH);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if constexpr (sizeof(P) == 2) {
            stage_pairs<WIDTH>(panel, b + k0 * b_step, args.b_stride, args.b_transposed, last - k0,
                               columns, spare, lane);
        } else {
            stage_right<WIDTH>(panel, b + k0 * b_step, args.b_stride, args.b_transposed, last - k0,
                               columns, spare, lane);
        }
        for (uint i = 0; i < rows; i += TALL * TILE) {
            panel_sums<P, TALL, TN> sums;
            sums.begin(lines + i * WIDTH, k0 == first);
            device const T *left = a + i * a_row;
            simdgroup_barrier(mem_flags::mem_threadgroup); // the last row's room is free
            // what comes next is on its way while products are made
            stage_left<TALL>(rooms, left + k0 * a_step, args.a_stride, args.a_transposed, rows - i,
                             last - k0, ahead, spare, lane);
            for (uint k = k0, turn = 0; k < last; k += PANEL_LINE, turn ^= 1) {
                simdgroup_barrier(mem_flags::mem_threadgroup);
                uint next = k + PANEL_LINE;
                if (next < last) {
                    stage_left<TALL>(rooms + (turn ^ 1) * self::ROOM, left + next * a_step,
                                     args.a_stride, args.a_transposed, rows - i, last - next, ahead,
                                     spare, lane);
                }
                threadgroup const P *room = rooms + turn * self::ROOM;
                uint depth = min((last - k + (TILE - 1)) & ~(TILE - 1), PANEL_LINE);
                if (args.a_transposed && sizeof(P) == 4) {
                    sums.template add<true>(room, panel + (k - k0) * WIDTH, depth);
                } else {
                    sums.template add<false>(room, panel + (k - k0) * WIDTH, depth);
                }
            }
            if (sizeof(P) == 2 && last == end && i + TALL * TILE <= straight) {
                put_sums(sums.sum, out + (row0 + i) * args.out_stride + column0, args.out_stride);
            } else {
                sums.keep(lines + i * WIDTH);
            }
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    ulong plane = ulong(part) * args.batch + matrix;
    if (!args.out_transposed) {
        put_lines<WIDTH, sizeof(P) == 2>(lines + straight * WIDTH, rows - straight, columns,
                                         row0 + straight, column0, false, plane, bias, out, parts,
                                         args, lane);
        return;
    }
    threadgroup float *free = (threadgroup float *)panel;
    for (uint c = 0; c < columns; c += self::TURNED) {
        for (uint j = 0; j < self::TURNED; j += TILE) {
            for (uint i = 0; i < rows; i += TILE) {
                simdgroup_float8x8 tile;
                simdgroup_load(tile, lines + i * WIDTH + c + j, WIDTH);
                simdgroup_store(tile, free + j * HEIGHT + i, HEIGHT, ulong2(0), true);
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        put_lines<HEIGHT, sizeof(P) == 2>(free, min(columns - c, self::TURNED), rows, row0,
                                          column0 + c, true, plane, bias, out, parts, args, lane);
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
}

#endif
