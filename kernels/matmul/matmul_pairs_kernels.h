/* Products of bfloat by pairs: the kernels that lay operands out anew, and the product of dense
 * ones (matmul_pairs.h). */
#ifndef INGOT_KERNELS_MATMUL_PAIRS_KERNELS_H
#define INGOT_KERNELS_MATMUL_PAIRS_KERNELS_H

/* Eight lines of eight on their way; `turned`: memory has them as columns. */
template <typename T>
inline void pack_pairs(device T *to, uint to_stride, device const T *from, ulong stride,
                       bool turned, uint lines, uint across, uint lane) {
    if (lines >= TILE && across >= TILE) {
        simdgroup_matrix<T, 8, 8> tile = load_turned(from, stride, turned);
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

/* A SIMD-group takes some of k of WIDTH columns. */
template <typename T, uint WIDTH>
kernel void matmul_pairs_right(device const T *b [[buffer(0)]], device T *packed [[buffer(1)]],
                               constant matmul_args &args [[buffer(2)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint3 groups [[threadgroups_per_grid]],
                               uint lane [[thread_index_in_simdgroup]]) {
    threadgroup ushort spare[PAIR_SPARE];
    uint column = group.y * WIDTH, padded = pair_depth(args.k);
    uint first = group.x * PACK_DEPTH, end = min(padded, first + PACK_DEPTH);
    uint across = column < args.n ? args.n - column : 0;
    device uint *words =
        (device uint *)packed + ulong(group.z * groups.y + group.y) * (padded / 2) * WIDTH;
    b += group.z * args.b_batch;
    if (!args.b_transposed) {
        b += column;
        for (uint k = first; k < end; k += TILE) {
            uint depth = k < args.k ? args.k - k : 0;
            interleave_rows<WIDTH>(words + k / 2 * WIDTH, b + (depth ? k : 0) * args.b_stride,
                                   args.b_stride, depth, across, lane);
        }
        return;
    }
    for (uint c = 0; c < WIDTH; c += TILE) {
        for (uint k = first; k < end; k += 32) {
            device float *to = (device float *)words + k / 2 * WIDTH + c;
            simdgroup_float8x8 tiles[2];
            interleave_turned(tiles, b + (column + c) * args.b_stride + k, args.b_stride,
                              k < args.k ? args.k - k : 0, c < across ? across - c : 0, spare,
                              lane);
            simdgroup_store(tiles[0], to, WIDTH);
            if (k + 16 < end) {
                simdgroup_store(tiles[1], to + TILE * WIDTH, WIDTH);
            }
        }
    }
}

/* a_stride, a_batch and b_batch are of what is read. */
template <typename T, uint TM, uint TALL, uint TN>
kernel void matmul_pairs(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                         device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                         device uchar *parts [[buffer(4)]],
                         constant matmul_args &args [[buffer(5)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float lines[TM * TILE * TN * TILE], turned[TM * TILE * TN * TILE];
    threadgroup T room[2 * TALL * TILE * PAIR_LINE];
    dense_lines<T> left = {a + group.z % args.batch * args.a_batch, args.a_stride, args.m, args.k};
    make_pairs<T, TM, TALL, TN>(left, b, bias, out, parts, args, group, lane, lines, turned, room);
}

#endif
