/* Products of bfloat and half by matrix units: the products of dense operands, and the kernels that
 * lay them out anew (matmul_units.h). */
#ifndef INGOT_KERNELS_MATMUL_UNITS_KERNELS_H
#define INGOT_KERNELS_MATMUL_UNITS_KERNELS_H

#include "common/memory_hints.h"

/* a_batch and b_batch are of what is read. b_stride: so many threadgroups, one below the other,
 * come before the next columns: their rows, and then the columns, are found in the second-level
 * cache. While rows go by, the next stretch of the columns is on its way. */
template <typename T, uint HEIGHT, uint DEPTH>
kernel void matmul_units(device const bfloat *a [[buffer(0)]], device const bfloat *b [[buffer(1)]],
                         device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                         device uchar *parts [[buffer(4)]],
                         constant matmul_args &args [[buffer(5)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint PARTS = unit_parts<T>, BLOCK = UNIT_SIDE * PARTS; // of a line, per k
    constexpr uint AHEAD = DEPTH * BLOCK / (HEIGHT / UNIT_SIDE);     // elements per 32 rows
    threadgroup float lines[HEIGHT * UNIT_SIDE];
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint below = uint(args.b_stride), column0 = group.x / below * UNIT_SIDE;
    uint padded = unit_blocks(args.k) * UNIT_SIDE;
    uint row0 = (group.y * below + group.x % below) * HEIGHT;
    if (row0 >= args.m) {
        return;
    }
    uint first = part * args.part_depth, end = min(padded, first + args.part_depth);
    a += matrix * args.a_batch + ulong(row0) * padded * PARTS;
    b += matrix * args.b_batch + ulong(column0) * padded * PARTS;
    uint rows = min(args.m - row0, HEIGHT);
    for (uint r = 0; r < unit_blocks(rows) * UNIT_SIDE; r++) {
        lines[r * UNIT_SIDE + lane] = 0;
    }
    for (uint k = first; k < end; k += DEPTH) {
        uint depth = min(DEPTH, end - k);
        for (uint i = 0; i < rows; i += UNIT_SIDE) {
            simdgroup_float8x8 sum[UNIT_TILES][UNIT_TILES];
            simdgroup_barrier(mem_flags::mem_threadgroup);
            prefetch<AHEAD>(b + (k + DEPTH) * BLOCK + i / UNIT_SIDE * AHEAD);
            begin_sums(sum, lines + i * UNIT_SIDE, false);
            add_by_units<UNIT_SIDE, bfloat, PARTS>(sum, a + ulong(i) * padded * PARTS + k * BLOCK,
                                                   UNIT_SIDE, b + k * BLOCK, depth);
            keep_sums(sum, lines + i * UNIT_SIDE);
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out += matrix * args.out_batch;
    put_unit(lines, rows, row0, column0, ulong(part) * args.batch + matrix, bias, out, parts, args,
             lane);
}

/* a_stride and a_batch are of the left side as it lies; n is at most COLUMNS. */
template <typename T, uint COLUMNS, uint DEPTH>
kernel void matmul_units_rows(device const T *a [[buffer(0)]], device const bfloat *b [[buffer(1)]],
                              device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                              device uchar *parts [[buffer(4)]],
                              constant matmul_args &args [[buffer(5)]],
                              uint3 group [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float lines[COLUMNS * UNIT_SIDE]; // [columns / 32][row][column]
    threadgroup bfloat room[DEPTH * UNIT_SIDE * unit_parts<T>];
    unit_lines<T> left = {a + group.z % args.batch * args.a_batch, args.a_stride, args.m, args.k};
    make_rows<T, COLUMNS, DEPTH>(left, b, bias, out, parts, args, group, lane, lines, room);
}

/* A turned tile of the left side, `lines` and `across` of it. */
inline void pack_units(device bfloat *to, device const bfloat *from, ulong stride, uint lines,
                       uint across, uint lane) {
    pack_pairs(to, UNIT_SIDE, from, stride, true, lines, across, lane);
}
inline void pack_units(device bfloat *to, device const half *from, ulong stride, uint lines,
                       uint across, uint lane) {
    if (lines >= TILE && across >= TILE) {
        simdgroup_half8x8 tile = load_turned(from, stride, true);
        const half2 pair = tile.thread_elements();
        const uint first = unit_halves(pair.x), second = unit_halves(pair.y);
        simdgroup_matrix<bfloat, 8, 8> upper, lower;
        upper.thread_elements() =
            vec<bfloat, 2>(as_type<bfloat>(ushort(first)), as_type<bfloat>(ushort(second)));
        lower.thread_elements() = vec<bfloat, 2>(as_type<bfloat>(ushort(first >> 16)),
                                                 as_type<bfloat>(ushort(second >> 16)));
        simdgroup_store(upper, to, UNIT_SIDE);
        simdgroup_store(lower, to + UNIT_SIDE * UNIT_SIDE, UNIT_SIDE);
        return;
    }
    for (uint e = lane; e < TILE * TILE; e += 32) {
        uint l = e / TILE, x = e % TILE;
        place_unit(to + l * UNIT_SIDE + x,
                   l < lines && x < across ? from[x * stride + l] : half(0));
    }
}

/* ---- operands anew: a SIMD-group takes 32 rows or columns and PACK_DEPTH of k ---------------- */
template <typename T>
kernel void matmul_units_left(device const T *a [[buffer(0)]], device bfloat *packed [[buffer(1)]],
                              constant matmul_args &args [[buffer(2)]],
                              uint3 group [[threadgroup_position_in_grid]],
                              uint3 groups [[threadgroups_per_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
    uint row = group.y * UNIT_SIDE, padded = unit_blocks(args.k) * UNIT_SIDE;
    uint first = group.x * PACK_DEPTH, end = min(padded, first + PACK_DEPTH);
    constexpr uint BLOCK = UNIT_SIDE * unit_parts<T>;
    packed += ulong(group.z * groups.y + group.y) * padded * BLOCK;
    a += group.z * args.a_batch;
    uint rows = min(args.m - row, UNIT_SIDE);
    for (uint k = first; k < end; k += UNIT_SIDE) {
        device bfloat *to = packed + k * BLOCK;
        if (args.a_transposed) {
#pragma clang loop unroll(disable)
            for (uint r = 0; r < UNIT_SIDE; r += TILE) {
#pragma clang loop unroll(disable)
                for (uint l = 0; l < UNIT_SIDE; l += TILE) {
                    pack_units(to + r * UNIT_SIDE + l, a + (k + l) * args.a_stride + row + r,
                               args.a_stride, r < rows ? rows - r : 0,
                               k + l < args.k ? args.k - k - l : 0, lane);
                }
            }
        } else if (rows == UNIT_SIDE && k + UNIT_SIDE <= args.k) {
            device const T *from = a + row * args.a_stride + k;
#pragma unroll
            for (uint r = 0; r < UNIT_SIDE; r++) {
                place_unit(to + r * UNIT_SIDE + lane, from[r * args.a_stride + lane]);
            }
        } else {
#pragma clang loop unroll(disable)
            for (uint r = 0; r < UNIT_SIDE; r++) {
                place_unit(to + r * UNIT_SIDE + lane, r < rows && k + lane < args.k
                                                          ? a[(row + r) * args.a_stride + k + lane]
                                                          : T(0));
            }
        }
    }
}

/* ---- a right side ---- */

inline device uint *words_of(device bfloat *to) {
    return (device uint *)to;
}
inline threadgroup uint *words_of(threadgroup bfloat *to) {
    return (threadgroup uint *)to;
}
inline device float *floats_of(device bfloat *to) {
    return (device float *)to;
}
inline threadgroup float *floats_of(threadgroup bfloat *to) {
    return (threadgroup float *)to;
}

/* Two neighbours in k as a word; of halves the upper parts, and then the lower ones. */
template <typename T> inline uint2 pair_words(T low, T high) {
    if constexpr (unit_parts<T> == 2) {
        const uint first = unit_halves(low), second = unit_halves(high);
        return uint2((first & 0xffffu) | second << 16, first >> 16 | (second & 0xffff0000u));
    } else {
        return uint2(uint(as_type<ushort>(low)) | uint(as_type<ushort>(high)) << 16, 0);
    }
}

/* A right side as it lies, and how 32 of its columns and of k are laid out. */
template <typename T> struct unit_columns {
    device const T *first;
    ulong stride;
    uint columns, depth;
    bool turned; // columns are lines in memory
    bool words;  // whose words of two elements are aligned

    template <typename To> static void place(To to, uint2 words, uint at) {
        words_of(to)[at] = words.x;
        if constexpr (unit_parts<T> == 2) {
            words_of(to)[UNIT_SIDE * UNIT_SIDE / 2 + at] = words.y;
        }
    }
    /* Two of k are a word, and words are turned. */
    template <typename To> void turn_words(To to, uint column, uint k) thread const {
        device const float *from = (device const float *)(first + column * stride + k);
        const ulong line = stride / 2;
#pragma unroll
        for (uint c = 0; c < UNIT_SIDE; c += TILE)
#pragma unroll
            for (uint l = 0; l < UNIT_SIDE / 2; l += TILE) {
                simdgroup_float8x8 tile;
                simdgroup_load(tile, from + c * line + l, line, ulong2(0), true);
                if constexpr (unit_parts<T> == 2) {
                    const float2 pairs = tile.thread_elements();
                    const half2 one = as_type<half2>(pairs.x), other = as_type<half2>(pairs.y);
                    const uint2 parts = pair_words(one.x, one.y),
                                more = pair_words(other.x, other.y);
                    simdgroup_float8x8 lower;
                    tile.thread_elements() = as_type<float2>(uint2(parts.x, more.x));
                    lower.thread_elements() = as_type<float2>(uint2(parts.y, more.y));
                    simdgroup_store(lower,
                                    floats_of(to) + UNIT_SIDE * UNIT_SIDE / 2 + l * UNIT_SIDE + c,
                                    UNIT_SIDE);
                }
                simdgroup_store(tile, floats_of(to) + l * UNIT_SIDE + c, UNIT_SIDE);
            }
    }
    template <typename To> void some(To to, uint column, uint k, uint lane) thread const {
        const bool inside = column + lane < columns;
        device const T *from =
            turned ? first + (column + lane) * stride + k : first + k * stride + column + lane;
        const ulong next = turned ? 1 : stride;
#pragma clang loop unroll(disable)
        for (uint l = 0; l < UNIT_SIDE; l += 2) {
            const T low = inside && k + l < depth ? from[l * next] : T(0);
            const T high = inside && k + l + 1 < depth ? from[(l + 1) * next] : T(0);
            place(to, pair_words(low, high), l / 2 * UNIT_SIDE + lane);
        }
    }
    /* AHEAD: of k, what is fetched meanwhile. */
    template <uint AHEAD, typename To>
    void bring(To to, uint column, uint k, uint lane) thread const {
        const bool all = column + UNIT_SIDE <= columns && k + UNIT_SIDE <= depth;
        if (!all || (turned && !words)) {
            some(to, column, k, lane);
            return;
        }
        if (turned) {
            turn_words(to, column, k);
            return;
        }
        device const T *from = first + k * stride + column;
#pragma unroll
        for (uint l = 0; l < UNIT_SIDE; l += 2) {
            if (AHEAD) {
                prefetch<UNIT_SIDE>(from + (l + AHEAD) * stride);
                prefetch<UNIT_SIDE>(from + (l + AHEAD + 1) * stride);
            }
            place(to, pair_words(from[l * stride + lane], from[(l + 1) * stride + lane]),
                  l / 2 * UNIT_SIDE + lane);
        }
    }
};

/* b_stride and b_batch are of b as it lies. */
template <typename T>
inline unit_columns<T> columns_of(device const T *b, uint matrix, constant matmul_args &args) {
    const bool words = args.b_stride % 2 == 0 && args.b_batch % 2 == 0 && ulong(b) % 4 == 0;
    return {b + matrix * args.b_batch, args.b_stride, args.n, args.k,
            args.b_transposed != 0,    words};
}

template <typename T>
kernel void matmul_units_right(device const T *b [[buffer(0)]], device bfloat *packed [[buffer(1)]],
                               constant matmul_args &args [[buffer(2)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint3 groups [[threadgroups_per_grid]],
                               uint lane [[thread_index_in_simdgroup]]) {
    uint padded = unit_blocks(args.k) * UNIT_SIDE;
    uint first = group.x * PACK_DEPTH, end = min(padded, first + PACK_DEPTH);
    constexpr uint BLOCK = UNIT_SIDE * unit_parts<T>;
    packed += ulong(group.z * groups.y + group.y) * padded * BLOCK;
    unit_columns<T> right = columns_of(b, group.z, args);
    for (uint k = first; k < end; k += UNIT_SIDE) {
        right.template bring<0>(packed + k * BLOCK, group.y * UNIT_SIDE, k, lane);
    }
}

/* With few rows the right side is not laid out anew in memory: a SIMD-group has 32 columns, DEPTH
 * of k at a time in threadgroup memory, and all rows, of which there are HEIGHT at most. a_batch is
 * of what is read. */
template <typename T, uint HEIGHT, uint DEPTH>
kernel void
matmul_units_columns(device const bfloat *a [[buffer(0)]], device const T *b [[buffer(1)]],
                     device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                     device uchar *parts [[buffer(4)]], constant matmul_args &args [[buffer(5)]],
                     uint3 group [[threadgroup_position_in_grid]],
                     uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint PARTS = unit_parts<T>, BLOCK = UNIT_SIDE * PARTS;
    threadgroup float lines[HEIGHT * UNIT_SIDE];
    threadgroup bfloat room[DEPTH * BLOCK];
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint column0 = group.x * UNIT_SIDE, padded = unit_blocks(args.k) * UNIT_SIDE;
    uint first = part * args.part_depth, end = min(padded, first + args.part_depth);
    a += matrix * args.a_batch;
    unit_columns<T> right = columns_of(b, matrix, args);
    for (uint r = 0; r < unit_blocks(args.m) * UNIT_SIDE; r++) {
        lines[r * UNIT_SIDE + lane] = 0;
    }
    for (uint k = first; k < end; k += DEPTH) {
        uint depth = min(DEPTH, end - k);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint i = 0; i < depth; i += UNIT_SIDE) {
            right.template bring<UNIT_SIDE>(room + i * BLOCK, column0, k + i, lane);
        }
        for (uint i = 0; i < args.m; i += UNIT_SIDE) {
            simdgroup_float8x8 sum[UNIT_TILES][UNIT_TILES];
            simdgroup_barrier(mem_flags::mem_threadgroup);
            begin_sums(sum, lines + i * UNIT_SIDE, false);
            add_by_units<UNIT_SIDE, bfloat, PARTS>(sum, a + ulong(i) * padded * PARTS + k * BLOCK,
                                                   UNIT_SIDE, (threadgroup const bfloat *)room,
                                                   depth);
            keep_sums(sum, lines + i * UNIT_SIDE);
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out += matrix * args.out_batch;
    put_unit(lines, args.m, 0, column0, ulong(part) * args.batch + matrix, bias, out, parts, args,
             lane);
}

#endif
