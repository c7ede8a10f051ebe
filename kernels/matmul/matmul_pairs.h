/*
 * Products of bfloat on CPUs that multiply it two of k at a time (x86-64-v4-bf16).
 *
 * The right side is laid out anew, in bfloat: [columns / 16][k][16], k in whole tiles, zeros where
 * there is nothing; two rows of it are one vector of 64 bytes. The left side is read where it
 * lies if k is along its lines, which saves a pass over the weights of a linear layer; otherwise
 * it is laid out anew as [rows / 8][k / 8][8][8]. Tiles past its end go through threadgroup memory.
 */
#ifndef INGOT_KERNELS_MATMUL_PAIRS_H
#define INGOT_KERNELS_MATMUL_PAIRS_H

constexpr constant uint PAIR_COLUMNS = 16;

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
        pack_pairs(packed + k * TILE, TILE, a + k * args.a_stride, args.a_stride, true,
                   args.m - row, args.k - k, lane);
    }
}

template <typename T>
kernel void matmul_pairs_right(device const T *b [[buffer(0)]], device T *packed [[buffer(1)]],
                               constant matmul_args &args [[buffer(2)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint3 groups [[threadgroups_per_grid]],
                               uint lane [[thread_index_in_simdgroup]]) {
    uint column = group.y * PAIR_COLUMNS, padded = (args.k + (TILE - 1)) & ~(TILE - 1);
    uint first = group.x * PACK_DEPTH, end = min(padded, first + PACK_DEPTH);
    packed += ulong(group.z * groups.y + group.y) * padded * PAIR_COLUMNS;
    b += group.z * args.b_batch;
    for (uint k = first; k < end; k += TILE) {
        for (uint c = 0; c < PAIR_COLUMNS; c += TILE) {
            uint x = column + c, across = x < args.n ? args.n - x : 0;
            device const T *from =
                args.b_transposed ? b + x * args.b_stride + k : b + k * args.b_stride + x;
            pack_pairs(packed + k * PAIR_COLUMNS + c, PAIR_COLUMNS, from, args.b_stride,
                       args.b_transposed, args.k - k, across, lane);
        }
    }
}

/* TALL rows of tiles by UNITS times 16 columns; between two stretches of k they lie in `lines`. */
template <typename T, uint TALL, uint UNITS> struct pair_sums {
    static constexpr constant uint TN = 2 * UNITS, LINE = TN * TILE;
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
    void add(device const T *left, ulong row_step, uint k_step, ulong stride, device const T *right,
             ulong unit_step, uint first, uint end) thread {
        for (uint k = first; k < end; k += TILE) {
            simdgroup_matrix<T, 8, 8> rows[TALL], columns[TN];
#pragma unroll
            for (uint i = 0; i < TALL; i++) {
                simdgroup_load(rows[i], left + i * TILE * row_step + k * k_step, stride);
            }
#pragma unroll
            for (uint j = 0; j < TN; j++) {
                simdgroup_load(columns[j],
                               right + j / 2 * unit_step + k * PAIR_COLUMNS + j % 2 * TILE,
                               PAIR_COLUMNS);
            }
#pragma unroll
            for (uint i = 0; i < TALL; i++)
#pragma unroll
                for (uint j = 0; j < TN; j++) {
                    simdgroup_multiply_accumulate(sum[i][j], rows[i], columns[j], sum[i][j]);
                }
        }
    }
    /* Tiles of the left side that are not whole, by way of threadgroup memory. */
    void add_rest(device const T *left, ulong stride, uint rows, uint depth, device const T *right,
                  ulong unit_step, threadgroup T *room, uint lane) thread {
        for (uint e = lane; e < TALL * TILE * TILE; e += 32) {
            room[e] =
                e / TILE < rows && e % TILE < depth ? left[e / TILE * stride + e % TILE] : T(0);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_matrix<T, 8, 8> tile[TALL], columns[TN];
#pragma unroll
        for (uint i = 0; i < TALL; i++) {
            simdgroup_load(tile[i], room + i * TILE * TILE, TILE);
        }
#pragma unroll
        for (uint j = 0; j < TN; j++) {
            simdgroup_load(columns[j], right + j / 2 * unit_step + j % 2 * TILE, PAIR_COLUMNS);
        }
#pragma unroll
        for (uint i = 0; i < TALL; i++)
#pragma unroll
            for (uint j = 0; j < TN; j++) {
                simdgroup_multiply_accumulate(sum[i][j], tile[i], columns[j], sum[i][j]);
            }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
};

/* A SIMD-group makes TM * 8 rows by UNITS * 16 columns, TALL rows of tiles at a time. a_transposed:
 * the left side was laid out anew. a_batch and b_batch are of what is read. */
template <typename T, uint TM, uint TALL, uint UNITS>
kernel void matmul_pairs(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                         device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                         device uchar *parts [[buffer(4)]],
                         constant matmul_args &args [[buffer(5)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint WIDTH = UNITS * PAIR_COLUMNS, HEIGHT = TM * TILE, DEPTH = 768 / UNITS;
    threadgroup float lines[HEIGHT * WIDTH], turned[HEIGHT * WIDTH];
    threadgroup T room[TALL * TILE * TILE];
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint padded = (args.k + (TILE - 1)) & ~(TILE - 1), row0 = group.y * HEIGHT;
    uint first = part * args.part_depth, end = min(padded, first + args.part_depth);
    ulong unit_step = ulong(padded) * PAIR_COLUMNS;
    bool packed = args.a_transposed;
    ulong row_step = packed ? padded : args.a_stride, stride = packed ? TILE : args.a_stride;
    uint k_step = packed ? TILE : 1;
    uint whole_k = packed ? padded : args.k & ~(TILE - 1);
    uint rows = packed ? (args.m + (TILE - 1)) & ~(TILE - 1) : args.m;
    a += matrix * args.a_batch;
    b += matrix * args.b_batch + ulong(group.x) * UNITS * unit_step;
    for (uint k0 = first; k0 < end; k0 += DEPTH) {
        uint last = min(end, k0 + DEPTH);
        for (uint i = 0; i < HEIGHT && row0 + i < args.m; i += TALL * TILE) {
            uint row = row0 + i, left_rows = rows - row, k = k0;
            device const T *left = a + row * row_step;
            pair_sums<T, TALL, UNITS> sums;
            sums.begin(lines + i * WIDTH, k0 == first);
            if (left_rows >= TALL * TILE) {
                k = min(last, whole_k);
                sums.add(left, row_step, k_step, stride, b, unit_step, k0, k);
            }
            for (; k < last; k += TILE) {
                if (packed) {
                    sums.add_rest(left + k * TILE, TILE, left_rows, TILE, b + k * PAIR_COLUMNS,
                                  unit_step, room, lane);
                } else {
                    sums.add_rest(left + k, stride, left_rows, args.k - k, b + k * PAIR_COLUMNS,
                                  unit_step, room, lane);
                }
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
    rows = min(args.m - row0, HEIGHT);
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
