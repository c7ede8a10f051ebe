/*
 * Products of bfloat and half on CPUs with matrix units (x86-64-v4-bf16-amx), and of bfloat on
 * those with instructions for matrices (aarch64-bf16), 32 by 32 by 32 at a time: the compiler makes
 * four instructions of them, or 2048. Of halves each block of 32 of k is laid out twice, the upper
 * and the lower parts (common/tile_units.h).
 *
 * Both sides are laid out anew, with zeros up to multiples of 32: the left one as
 * [m / 32][k / 32][32][32], the right one as [n / 32][k / 2][32][2], two rows interleaved. A
 * SIMD-group has 32 columns and HEIGHT rows. DEPTH of k of the columns stay in the first-level
 * cache while the rows go by; between two such stretches the sums lie in threadgroup memory.
 * With few columns a left side that has k along its lines is not laid out anew in memory: a
 * SIMD-group has 32 rows, DEPTH of k at a time in threadgroup memory, and all columns.
 */
#ifndef INGOT_KERNELS_MATMUL_UNITS_H
#define INGOT_KERNELS_MATMUL_UNITS_H

#include "common/tile_units.h"
#include "matmul/matmul_finish.h"
#include "matmul/matmul_sums.h"

inline uint unit_blocks(uint extent) {
    return (extent + (UNIT_SIDE - 1)) / UNIT_SIDE;
}

/* Rows of the result on their way out; whole ones of a plain product are only rounded. */
template <typename T>
inline void put_unit(threadgroup const float *lines, uint rows, uint row0, uint column0,
                     ulong plane, device const T *bias, device T *out, device uchar *parts,
                     constant matmul_args &args, uint lane) {
    if (column0 + UNIT_SIDE <= args.n && args.parts == 1 && !args.has_bias && !args.epilogue) {
        device T *to = out + row0 * args.out_stride + column0;
        for (uint r = 0; r < rows; r++) {
            to[r * args.out_stride + lane] = T(lines[r * UNIT_SIDE + lane]);
        }
        return;
    }
    if (column0 + lane < args.n) {
        for (uint r = 0; r < rows; r++) {
            put(lines[r * UNIT_SIDE + lane], plane, row0 + r, column0 + lane, bias, out, parts,
                args);
        }
    }
}

/* A left side as it lies in memory, and how DEPTH of k of 32 of its lines come into threadgroup
 * memory, as [k / 32][32][32]. */
template <typename T> struct unit_lines {
    device const T *first;
    ulong stride;
    uint rows, depth;

    template <uint DEPTH>
    void bring(threadgroup bfloat *to, uint row, uint k, uint lane) thread const {
        constexpr uint PARTS = unit_parts<T>;
        bool all = row + UNIT_SIDE <= rows && k + DEPTH <= depth;
        device const T *from = first + row * stride + k + lane;
#pragma clang loop unroll(disable)
        for (uint r = 0; r < UNIT_SIDE; r++) {
            threadgroup bfloat *line = to + r * UNIT_SIDE + lane;
            if (all) {
#pragma unroll
                for (uint i = 0; i < DEPTH; i += UNIT_SIDE) {
                    place_unit(line + i * UNIT_SIDE * PARTS, from[r * stride + i]);
                }
                continue;
            }
            for (uint i = 0; i < DEPTH; i += UNIT_SIDE) {
                place_unit(line + i * UNIT_SIDE * PARTS,
                           row + r < rows && k + i + lane < depth ? from[r * stride + i] : T(0));
            }
        }
    }
};

/* A SIMD-group makes 32 rows by all columns, of which there are COLUMNS at most. b_batch is of what
 * is read. */
template <typename T, uint COLUMNS, uint DEPTH, typename L>
inline void make_rows(thread const L &left, device const bfloat *b, device const T *bias,
                      device T *out, device uchar *parts, constant matmul_args &args, uint3 group,
                      uint lane, threadgroup float *lines, threadgroup bfloat *room) {
    constexpr uint PARTS = unit_parts<T>;
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint padded = unit_blocks(args.k) * UNIT_SIDE, row0 = group.x * UNIT_SIDE;
    uint first = part * args.part_depth, end = min(padded, first + args.part_depth);
    b += matrix * args.b_batch;
    uint rows = min(args.m - row0, UNIT_SIDE), columns = unit_blocks(args.n) * UNIT_SIDE;
    for (uint r = 0; r < columns; r++) {
        lines[r * UNIT_SIDE + lane] = 0;
    }
    for (uint k = first; k < end; k += DEPTH) {
        uint depth = min(DEPTH, end - k);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        left.template bring<DEPTH>(room, row0, k, lane);
        for (uint c = 0; c < columns; c += UNIT_SIDE) {
            simdgroup_float8x8 sum[UNIT_TILES][UNIT_TILES];
            simdgroup_barrier(mem_flags::mem_threadgroup);
            begin_sums(sum, lines + c * UNIT_SIDE, false);
            add_by_units<UNIT_SIDE, bfloat, PARTS>(sum, (threadgroup const bfloat *)room, UNIT_SIDE,
                                                   b + (ulong(c) * padded + k * UNIT_SIDE) * PARTS,
                                                   depth);
            keep_sums(sum, lines + c * UNIT_SIDE);
        }
    }
    out += matrix * args.out_batch;
    ulong plane = ulong(part) * args.batch + matrix;
    threadgroup float *turned = (threadgroup float *)room;
    for (uint c = 0; c < columns; c += UNIT_SIDE) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        if (!args.out_transposed) {
            put_unit(lines + c * UNIT_SIDE, rows, row0, c, plane, bias, out, parts, args, lane);
            continue;
        }
#pragma clang loop unroll(disable)
        for (uint t = 0; t < UNIT_TILES * UNIT_TILES; t++) {
            simdgroup_float8x8 tile;
            uint r = t / UNIT_TILES * TILE, x = t % UNIT_TILES * TILE;
            simdgroup_load(tile, lines + (c + r) * UNIT_SIDE + x, UNIT_SIDE);
            simdgroup_store(tile, turned + x * UNIT_SIDE + r, UNIT_SIDE, ulong2(0), true);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        uint count = min(args.n - c, UNIT_SIDE);
        if (lane < rows) {
            for (uint x = 0; x < count; x++) {
                put(turned[x * UNIT_SIDE + lane], plane, row0 + lane, c + x, bias, out, parts,
                    args);
            }
        }
    }
}

#endif
