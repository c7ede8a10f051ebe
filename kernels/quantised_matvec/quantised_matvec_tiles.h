/*
 * 4-bit weights in groups of 128 on GPUs with matrix units, for half and bfloat vectors: W x as a
 * product of tiles. A SIMD-group takes 8 * ROW_TILES rows of the weights and a share of the groups
 * of 128 columns, neighbours, so that scales come from the cache; the SIMD-groups' sums are added
 * up at the end.
 *
 * A lane loads 32 neighbouring weights of a row, as four words. Numbers p and p + 4 of a word
 * become one register of two elements without arithmetic: their bits are set into the mantissas
 * of 16.0, so that an element is 16 + q, and 16 * sum(x) is taken off with the bias. Such pairs are
 * the two neighbours that a lane has of a tile's row; the order of k that this makes of the tiles
 * is the one in which x is laid out.
 */
#ifndef INGOT_KERNELS_QUANTISED_MATVEC_TILES_H
#define INGOT_KERNELS_QUANTISED_MATVEC_TILES_H

constant constexpr uint ROW_TILES = 4, TILED_SIMDS = 8, GROUP_COLUMNS = 128;
constant constexpr uint GROUP_WORDS = GROUP_COLUMNS / 8;

/* Numbers p and p + 4 of a word, each as 16 + q. */
template <typename T> inline vec<T, 2> sixteen_and(uint word, uint p);
template <> inline half2 sixteen_and<half>(uint word, uint p) {
    uint placed = p == 0 ? word << 6 : p == 1 ? word << 2 : p == 2 ? word >> 2 : word >> 6;
    return as_type<half2>((placed & 0x03c003c0u) | 0x4c004c00u);
}
template <> inline bfloat2 sixteen_and<bfloat>(uint word, uint p) {
    uint placed = p == 0 ? word << 3 : word >> (4 * p - 3);
    return as_type<bfloat2>((placed & 0x00780078u) | 0x41804180u);
}

/* Both columns of a tile over its rows. */
inline float2 sum_of_rows(float2 x) {
    x += float2(simd_shuffle_xor(x.x, ushort(2)), simd_shuffle_xor(x.y, ushort(2)));
    x += float2(simd_shuffle_xor(x.x, ushort(4)), simd_shuffle_xor(x.y, ushort(4)));
    return x + float2(simd_shuffle_xor(x.x, ushort(16)), simd_shuffle_xor(x.y, ushort(16)));
}

template <typename T, typename S>
[[max_total_threads_per_threadgroup(512)]] /* few registers, so that many run at once */
kernel void
quantised_matvec_tiles(device const T *x [[buffer(0)]], device const uint *packed [[buffer(1)]],
                       device const S *scales [[buffer(2)]], device const S *biases [[buffer(3)]],
                       device const T *bias [[buffer(4)]], device T *out [[buffer(5)]],
                       constant quantised_matvec_args &args [[buffer(6)]],
                       uint lane [[thread_index_in_simdgroup]],
                       uint simd [[simdgroup_index_in_threadgroup]],
                       uint me [[thread_index_in_threadgroup]],
                       uint group [[threadgroup_position_in_grid]]) {
    threadgroup float2 shared[TILED_SIMDS][ROW_TILES * 32];
    const uint row = (lane >> 4 & 1) * 4 + (lane >> 1 & 3); // of a tile, and the two columns
    const uint column = (lane >> 3 & 1) * 4 + (lane & 1) * 2;
    const uint first = group * (8 * ROW_TILES), groups = args.columns / GROUP_COLUMNS;
    const ulong words = ulong(groups) * GROUP_WORDS;
    ulong line[ROW_TILES];
#pragma unroll
    for (uint i = 0; i < ROW_TILES; i++)
        line[i] = min(first + 8 * i + row, args.rows - 1);
    // the elements of x for row `row` of tile (word, p) are four neighbours, p = 0 to 3
    const uint x_at = row / 2 * 32 + (row & 1) * 4;
    float2 total[ROW_TILES];
#pragma unroll
    for (uint i = 0; i < ROW_TILES; i++)
        total[i] = 0;

    uint4 next[ROW_TILES]; // weights on their way while others are used
#pragma unroll
    for (uint i = 0; i < ROW_TILES; i++)
        next[i] = *(device const uint4 *)(packed + line[i] * words +
                                          min(simd, groups - 1) * GROUP_WORDS + column * 2);
    for (uint g = simd; g < groups; g += TILED_SIMDS) {
        uint4 weights[ROW_TILES];
        float scale[ROW_TILES], shift[ROW_TILES];
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++) {
            weights[i] = next[i];
            next[i] = *(device const uint4 *)(packed + line[i] * words +
                                              min(g + TILED_SIMDS, groups - 1) * GROUP_WORDS +
                                              column * 2);
            scale[i] = float(scales[line[i] * groups + g]);
            shift[i] = has_biases ? float(biases[line[i] * groups + g]) : -middle * scale[i];
        }
        simdgroup_float8x8 sum[ROW_TILES];
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++)
            sum[i] = simdgroup_float8x8(0.0f);
        float2 of_x = 0;
#pragma unroll
        for (uint w = 0; w < 4; w++) {
            vec<T, 4> left = 0, right = 0; // of vectors `column` and the next
            device const T *from = x + ulong(g) * GROUP_COLUMNS + w * 8 + x_at;
            if (column < args.vectors)
                left = *(device const vec<T, 4> *)(from + column * args.x_stride);
            if (vectors > 1 && column + 1 < args.vectors)
                right = *(device const vec<T, 4> *)(from + (column + 1) * args.x_stride);
#pragma unroll
            for (uint p = 0; p < 4; p++) {
                simdgroup_matrix<T, 8, 8> xs, ws;
                xs.thread_elements() = vec<T, 2>(left[p], right[p]);
                of_x += float2(left[p], right[p]);
#pragma unroll
                for (uint i = 0; i < ROW_TILES; i++) {
                    ws.thread_elements() = sixteen_and<T>(weights[i][w], p);
                    simdgroup_multiply_accumulate(sum[i], ws, xs, sum[i]);
                }
            }
        }
        of_x = sum_of_rows(of_x);
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++)
            total[i] += scale[i] * sum[i].thread_elements() + (shift[i] - 16 * scale[i]) * of_x;
    }
#pragma unroll
    for (uint i = 0; i < ROW_TILES; i++)
        shared[simd][i * 32 + lane] = total[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (me >= ROW_TILES * 32)
        return;
    float2 all = 0;
#pragma unroll
    for (uint s = 0; s < TILED_SIMDS; s++)
        all += shared[s][me];
    const uint to = first + 8 * (me / 32) + row;
    if (to >= args.rows)
        return;
    const float more = args.has_bias ? float(bias[to]) : 0.0f;
#pragma unroll
    for (uint e = 0; e < 2; e++)
        if (column + e < args.vectors)
            out[(column + e) * args.out_stride + to] = T(all[e] + more);
}

#endif
