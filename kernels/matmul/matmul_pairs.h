/*
 * Products of bfloat on CPUs that multiply it two of k at a time (x86-64-v4-bf16).
 *
 * The right side is laid out anew, in bfloat: [columns / 16][k][16], k in whole tiles, zeros where
 * there is nothing; two rows of it are one vector of 64 bytes. (Up to 8 columns: 8 of 32 bytes.)
 * The left side is read where it
 * lies if k is along its lines, which saves a pass over the weights of a linear layer, else it is
 * laid out anew so. 32 of k of some lines at a time go through threadgroup memory: lines of a
 * matrix often lie a power of two apart, and would share few places of the cache.
 */
#ifndef INGOT_KERNELS_MATMUL_PAIRS_H
#define INGOT_KERNELS_MATMUL_PAIRS_H

constexpr constant uint PAIR_LINE = 32; /* of k, in threadgroup memory */

/* Columns that lie together, of a block so wide. */
constexpr uint pair_unit(uint width) {
    return width < 16 ? width : 16;
}

/* Eight lines of eight on their way; `turned`: memory has them as columns. */
template <typename T>
inline void pack_pairs(device T *to, uint to_stride, device const T *from, ulong stride,
                       bool turned, uint lines, uint across, uint lane) {
    if (lines >= TILE && across >= TILE) {
        simdgroup_matrix<T, 8, 8> tile;
        if (turned) {
            simdgroup_load(tile, from, stride, ulong2(0), true);
        } else {
            simdgroup_load(tile, from, stride);
        }
        simdgroup_store(tile, to, to_stride);
        return;
    }
    for (uint e = lane; e < TILE * TILE; e += 32) {
        uint l = e / TILE, x = e % TILE;
        T value = T(0);
        if (l < lines && x < across) {
            value = turned ? from[x * stride + l] : from[l * stride + x];
        }
        to[l * to_stride + x] = value;
    }
}

/* A left side that lies as [k][m]. */
template <typename T>
kernel void matmul_pairs_left(device const T *a [[buffer(0)]], device T *packed [[buffer(1)]],
                              constant matmul_args &args [[buffer(2)]],
                              uint3 group [[threadgroup_position_in_grid]],
                              uint lane [[thread_index_in_simdgroup]]) {
    uint row = group.y * TILE, padded = (args.k + (TILE - 1)) & ~(TILE - 1);
    uint first = group.x * PACK_DEPTH, end = min(padded, first + PACK_DEPTH);
    packed += ulong(group.z * ((args.m + (TILE - 1)) / TILE) + group.y) * padded * TILE;
    a += group.z * args.a_batch + row;
    for (uint k = first; k < end; k += TILE) {
        pack_pairs(packed + k, padded, a + k * args.a_stride, args.a_stride, true, args.m - row,
                   args.k - k, lane);
    }
}

/* A SIMD-group takes two times UNIT columns, a line of the cache. */
template <typename T, uint UNIT>
kernel void matmul_pairs_right(device const T *b [[buffer(0)]], device T *packed [[buffer(1)]],
                               constant matmul_args &args [[buffer(2)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint3 groups [[threadgroups_per_grid]],
                               uint lane [[thread_index_in_simdgroup]]) {
    uint column = group.y * (2 * UNIT), padded = (args.k + (TILE - 1)) & ~(TILE - 1);
    uint first = group.x * PACK_DEPTH, end = min(padded, first + PACK_DEPTH);
    packed += ulong(group.z * groups.y + group.y) * padded * (2 * UNIT);
    b += group.z * args.b_batch;
    for (uint k = first; k < end; k += TILE)
#pragma unroll
        for (uint c = 0; c < 2 * UNIT; c += TILE) {
            uint x = column + c, across = x < args.n ? args.n - x : 0;
            device const T *from =
                args.b_transposed ? b + x * args.b_stride + k : b + k * args.b_stride + x;
            pack_pairs(packed + (ulong(c / UNIT) * padded + k) * UNIT + c % UNIT, UNIT, from,
                       args.b_stride, args.b_transposed, args.k - k, across, lane);
        }
}

/* TALL by TN tiles; between two stretches of k they lie in `lines`. */
template <typename T, uint TALL, uint TN> struct pair_sums {
    static constexpr constant uint LINE = TN * TILE, UNIT = pair_unit(LINE);
    simdgroup_float8x8 sum[TALL][TN];

    void begin(threadgroup const float *lines, bool anew) thread {
#pragma unroll
        for (uint i = 0; i < TALL; i++)
#pragma unroll
            for (uint j = 0; j < TN; j++) {
                if (anew) {
                    sum[i][j] = simdgroup_float8x8(0.0f);
                } else {
                    simdgroup_load(sum[i][j], lines + i * TILE * LINE + j * TILE, LINE);
                }
            }
    }
    void keep(threadgroup float *lines) thread {
#pragma unroll
        for (uint i = 0; i < TALL; i++)
#pragma unroll
            for (uint j = 0; j < TN; j++) {
                simdgroup_store(sum[i][j], lines + i * TILE * LINE + j * TILE, LINE);
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
    void add(threadgroup const T *left, device const T *right, ulong unit_step, uint depth) thread {
        for (uint k = 0; k < depth; k += TILE) {
            simdgroup_matrix<T, 8, 8> rows[TALL], columns[TN];
#pragma unroll
            for (uint i = 0; i < TALL; i++) {
                simdgroup_load(rows[i], left + i * TILE * PAIR_LINE + k, PAIR_LINE);
            }
#pragma unroll
            for (uint j = 0; j < TN; j++) {
                simdgroup_load(columns[j], right + j / 2 * unit_step + k * UNIT + j % 2 * TILE,
                               UNIT);
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

/* COUNT lines of the left side, 32 of k, of which there are `rows` and `depth`. */
template <uint COUNT, typename T>
inline void stage_pairs(threadgroup T *to, device const T *from, ulong stride, uint rows,
                        uint depth, uint lane) {
    if (rows >= COUNT && depth >= PAIR_LINE) {
#pragma unroll
        for (uint r = 0; r < COUNT; r++) {
            to[r * PAIR_LINE + lane] = from[r * stride + lane];
        }
    } else {
        for (uint r = 0; r < COUNT; r++) {
            to[r * PAIR_LINE + lane] = r < rows && lane < depth ? from[r * stride + lane] : T(0);
        }
    }
}

/* A SIMD-group makes TM by TN tiles, TALL rows of tiles at a time. a_stride, a_batch and b_batch
 * are of what is read. */
template <typename T, uint TM, uint TALL, uint TN>
kernel void matmul_pairs(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                         device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                         device uchar *parts [[buffer(4)]],
                         constant matmul_args &args [[buffer(5)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint WIDTH = TN * TILE, HEIGHT = TM * TILE, UNIT = pair_unit(WIDTH);
    constexpr uint DEPTH = 12288 / WIDTH; // of the right side, 24 KiB
    threadgroup float lines[HEIGHT * WIDTH], turned[HEIGHT * WIDTH];
    threadgroup T room[2][TALL * TILE * PAIR_LINE];
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint padded = (args.k + (TILE - 1)) & ~(TILE - 1), row0 = group.y * HEIGHT;
    uint first = part * args.part_depth, end = min(padded, first + args.part_depth);
    ulong unit_step = ulong(padded) * UNIT;
    a += matrix * args.a_batch;
    b += matrix * args.b_batch + ulong(group.x) * WIDTH * padded;
    for (uint k0 = first; k0 < end; k0 += DEPTH) {
        uint last = min(end, k0 + DEPTH);
        for (uint i = 0; i < HEIGHT && row0 + i < args.m; i += TALL * TILE) {
            uint rows = args.m - row0 - i;
            device const T *left = a + (row0 + i) * args.a_stride;
            pair_sums<T, TALL, TN> sums;
            sums.begin(lines + i * WIDTH, k0 == first);
            // what comes next is on its way while products are made
            stage_pairs<TALL * TILE>(room[0], left + k0, args.a_stride, rows, args.k - k0, lane);
            for (uint k = k0, turn = 0; k < last; k += PAIR_LINE, turn ^= 1) {
                simdgroup_barrier(mem_flags::mem_threadgroup);
                if (k + PAIR_LINE < last) {
                    stage_pairs<TALL * TILE>(room[turn ^ 1], left + k + PAIR_LINE, args.a_stride,
                                             rows, args.k - k - PAIR_LINE, lane);
                }
                sums.add(room[turn], b + k * UNIT, unit_step, min(last - k, PAIR_LINE));
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
        for (uint c = 0; c < columns; c++) {
            for (uint r = lane; r < rows; r += 32) {
                put(turned[c * HEIGHT + r], plane, row0 + r, column0 + c, bias, out, parts, args);
            }
        }
    } else {
        for (uint r = 0; r < rows; r++) {
            for (uint c = lane; c < columns; c += 32) {
                put(lines[r * WIDTH + c], plane, row0 + r, column0 + c, bias, out, parts, args);
            }
        }
    }
}

#endif
