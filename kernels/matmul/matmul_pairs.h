/*
 * Products of bfloat on CPUs that multiply it two of k at a time (x86-64-v4-bf16).
 *
 * The right side is laid out anew, in bfloat: [columns / WIDTH][k / 2][WIDTH][2], k in steps of 16,
 * zeros where there is nothing: what a product takes is one vector, and what it takes next follows.
 * The left side is read where it
 * lies if k is along its lines, which saves a pass over the weights of a linear layer, else it is
 * laid out anew so. 32 of k of some lines at a time go through threadgroup memory: lines of a
 * matrix often lie a power of two apart, and would share few places of the cache.
 */
#ifndef INGOT_KERNELS_MATMUL_PAIRS_H
#define INGOT_KERNELS_MATMUL_PAIRS_H

#include "common/memory_hints.h"
#include "common/tile.h"
#include "matmul/matmul_finish.h"
#include "matmul/matmul_sums.h"

constexpr constant uint PAIR_LINE = 32; /* of k, in threadgroup memory */

/* What k of the right side is filled up to. */
constexpr uint pair_depth(uint k) {
    return (k + 15) & ~15u;
}

/* TALL by TN tiles; between two stretches of k they lie in `lines`. */
template <typename T, uint TALL, uint TN> struct pair_sums {
    static constexpr constant uint WIDTH = TN * TILE;
    simdgroup_float8x8 sum[TALL][TN];

    void begin(threadgroup const float *lines, bool anew) thread {
        begin_sums(sum, lines, anew);
    }
    void keep(threadgroup float *lines) thread {
        keep_sums(sum, lines);
    }
    /* For lines that are loaded at once: two tiles are a register. Without the barrier the compiler
     * stores parts of two registers together, and a load of one would have to wait for both. */
    void keep_apart(threadgroup float *lines) thread {
#pragma unroll
        for (uint j = 0; j < TN; j++) {
#pragma unroll
            for (uint i = 0; i < TALL; i++) {
                simdgroup_store(sum[i][j], lines + (i * TN * TILE + j) * TILE, TN * TILE);
            }
            if (j % 2) {
                simdgroup_barrier(mem_flags::mem_threadgroup);
            }
        }
    }
    void keep_turned(threadgroup float *lines, uint line) thread {
#pragma unroll
        for (uint i = 0; i < TALL; i++)
#pragma unroll
            for (uint j = 0; j < TN; j++) {
                simdgroup_store(sum[i][j], lines + j * TILE * line + i * TILE, line, ulong2(0),
                                true);
            }
    }
    /* `depth` of k, a multiple of 8. */
    void add(threadgroup const T *left, device const T *right, uint depth) thread {
        for (uint k = 0; k < depth; k += TILE) {
            simdgroup_matrix<T, 8, 8> rows[TALL], columns[TN];
#pragma unroll
            for (uint i = 0; i < TALL; i++) {
                simdgroup_load(rows[i], left + i * TILE * PAIR_LINE + k, PAIR_LINE);
            }
#pragma unroll
            for (uint j = 0; j < TN; j++) {
                load_pairs(columns[j], right + k * WIDTH + j * (2 * TILE), 2 * WIDTH);
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

/* A left side as it lies in memory, and how 32 of k of COUNT of its lines come into threadgroup
 * memory, from line `row` on. */
template <typename T> struct dense_lines {
    device const T *first;
    ulong stride;
    uint rows, depth;

    template <uint COUNT> void stage(threadgroup T *to, uint row, uint k, uint lane) thread const {
        device const T *from = first + row * stride + k;
#pragma unroll
        for (uint r = COUNT; r < 2 * COUNT; r++) {
            prefetch<PAIR_LINE>(from + r * stride);
        }
        if (row + COUNT <= rows && k + PAIR_LINE <= depth) {
#pragma unroll
            for (uint r = 0; r < COUNT; r++) {
                to[r * PAIR_LINE + lane] = from[r * stride + lane];
            }
            return;
        }
        for (uint r = 0; r < COUNT; r++) {
            to[r * PAIR_LINE + lane] =
                row + r < rows && k + lane < depth ? from[r * stride + lane] : T(0);
        }
    }
};

/* A SIMD-group makes TM by TN tiles, TALL rows of tiles at a time. */
template <typename T, uint TM, uint TALL, uint TN, typename L>
inline void make_pairs(thread const L &left, device const T *b, device const T *bias, device T *out,
                       device uchar *parts, constant matmul_args &args, uint3 group, uint lane,
                       threadgroup float *lines, threadgroup float *turned, threadgroup T *room) {
    constexpr uint WIDTH = TN * TILE, HEIGHT = TM * TILE;
    constexpr uint DEPTH = 12288 / WIDTH; // of the right side, 24 KiB
    constexpr uint ROOM = TALL * TILE * PAIR_LINE;
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint padded = pair_depth(args.k), row0 = group.y * HEIGHT;
    uint first = part * args.part_depth, end = min(padded, first + args.part_depth);
    b += matrix * args.b_batch + ulong(group.x) * WIDTH * padded;
    for (uint k0 = first; k0 < end; k0 += DEPTH) {
        uint last = min(end, k0 + DEPTH);
        for (uint i = 0; i < HEIGHT && row0 + i < args.m; i += TALL * TILE) {
            pair_sums<T, TALL, TN> sums;
            sums.begin(lines + i * WIDTH, k0 == first);
            // what comes next is on its way while products are made
            simdgroup_barrier(mem_flags::mem_threadgroup); // the last row's room is free
            left.template stage<TALL * TILE>(room, row0 + i, k0, lane);
            for (uint k = k0, turn = 0; k < last; k += PAIR_LINE, turn ^= 1) {
                simdgroup_barrier(mem_flags::mem_threadgroup);
                if (k + PAIR_LINE < last) {
                    left.template stage<TALL * TILE>(room + (turn ^ 1) * ROOM, row0 + i,
                                                     k + PAIR_LINE, lane);
                }
                sums.add(room + turn * ROOM, b + k * WIDTH, min(last - k, PAIR_LINE));
            }
            if (args.out_transposed && last == end) {
                sums.keep_turned(turned + i, HEIGHT);
            } else {
                sums.keep(lines + i * WIDTH);
            }
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    uint column0 = group.x * WIDTH, columns = min(args.n - column0, WIDTH);
    ulong plane = ulong(part) * args.batch + matrix;
    out += matrix * args.out_batch;
    uint rows = min(args.m - row0, HEIGHT);
    if (args.out_transposed) {
        put_lines<HEIGHT, true>(turned, columns, rows, row0, column0, true, plane, bias, out, parts,
                                args, lane);
    } else {
        put_lines<WIDTH, true>(lines, rows, columns, row0, column0, false, plane, bias, out, parts,
                               args, lane);
    }
}

#endif
