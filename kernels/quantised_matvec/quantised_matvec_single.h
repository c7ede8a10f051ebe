/*
 * One vector of half or bfloat against 4-bit weights in groups of 128, on GPUs with matrix units:
 * weights are unpacked as in quantised_matvec_tiles.h, but the rows of a tile are not rows of the
 * weights: they are the eight groups of a piece of 1024 columns of one row, which a SIMD-group
 * loads as 512 neighbouring bytes. The columns of x's tiles are the same eight groups of x, so that
 * the diagonal of a product has the groups' dot products, each to be multiplied by its scale.
 *
 * A SIMD-group keeps a piece of x as tiles and goes down the rows of its threadgroup with it, four
 * at a time; weights are loaded into the place of those that have just been used, so that AHEAD
 * times four rows are always on their way. Tile row g of the i-th of four rows has group g ^ 2 i,
 * so that each lane has one number of the four diagonals, and loads one scale and one bias.
 */
#ifndef INGOT_KERNELS_QUANTISED_MATVEC_SINGLE_H
#define INGOT_KERNELS_QUANTISED_MATVEC_SINGLE_H

constant constexpr uint SINGLE_SIMDS = 8, SINGLE_ROWS = 4, PIECE_GROUPS = 8, AHEAD = 2;

/* The first group of a piece: the last piece begins early enough to be whole. */
inline uint first_of(uint piece, uint groups) {
    return min(piece * PIECE_GROUPS, groups - PIECE_GROUPS);
}

/* Where a lane is in a tile, and what of the four rows is its own. */
struct single_lane {
    uint row, quarter, own_row, own_group;
    uint offset[SINGLE_ROWS]; /* of its words in the piece, from the first row on */

    void find(uint lane, uint groups) {
        row = (lane >> 4 & 1) * 4 + (lane >> 1 & 3);
        quarter = (lane >> 3 & 1) * 2 + (lane & 1);
        own_row = row / 2 ^ quarter;
        own_group = quarter * 2 + row % 2;
#pragma unroll
        for (uint i = 0; i < SINGLE_ROWS; i++) {
            offset[i] = (i * groups + (row ^ 2 * i)) * GROUP_VECTORS + quarter;
        }
    }
};

/* What is loaded next: four rows of a piece. */
template <typename S> struct single_source {
    device const uint4 *weights; /* of the SIMD-group's first row */
    device const S *scales, *biases;
    uint groups, pieces, across, batches;
    uint piece, batch;
    device const uint4 *next;
    uint next_scale;

    void start(thread const single_lane &lane) {
        const uint first = first_of(piece, groups);
        batch = 0;
        next = weights + first * GROUP_VECTORS;
        next_scale = lane.own_row * groups + lane.own_group + first;
    }
    bool more() const {
        return piece < pieces;
    }
    void advance(thread const single_lane &lane) {
        batch++;
        next += SINGLE_ROWS * GROUP_VECTORS * groups;
        next_scale += SINGLE_ROWS * groups;
        if (batch == batches) {
            piece += across;
            start(lane);
        }
    }
};

/* Four rows of a piece, as a lane has them. */
template <typename T, typename S> struct four_rows {
    uint4 words[SINGLE_ROWS];
    S scale, bias;

    void load(thread const single_source<S> &from, thread const single_lane &lane) {
#pragma unroll
        for (uint i = 0; i < SINGLE_ROWS; i++) {
            words[i] = from.next[lane.offset[i]];
        }
        scale = from.scales[from.next_scale];
        bias = has_biases ? from.biases[from.next_scale] : scale;
    }
    /* The lane's group of the lane's row times x, without the scale. */
    float product(thread const simdgroup_matrix<T, 8, 8> *xs, thread const single_lane &lane,
                  uint sixteens) const {
        simdgroup_float8x8 sum[SINGLE_ROWS];
#pragma unroll
        for (uint i = 0; i < SINGLE_ROWS; i++) {
            sum[i] = simdgroup_float8x8(0.0f);
        }
#pragma unroll
        for (uint w = 0; w < 4; w++)
#pragma unroll
            for (uint p = 0; p < 4; p++)
#pragma unroll
                for (uint i = 0; i < SINGLE_ROWS; i++) {
                    simdgroup_matrix<T, 8, 8> ws;
                    ws.thread_elements() = sixteen_and<T>(words[i][w], p, sixteens);
                    simdgroup_multiply_accumulate(sum[i], ws, xs[w * 4 + p], sum[i]);
                }
        float dots[SINGLE_ROWS];
#pragma unroll
        for (uint i = 0; i < SINGLE_ROWS; i++) {
            const float2 two = sum[i].thread_elements();
            dots[i] = lane.row & 1 ? two.y : two.x;
        }
        const float low = lane.own_row & 1 ? dots[1] : dots[0];
        const float high = lane.own_row & 1 ? dots[3] : dots[2];
        return lane.own_row & 2 ? high : low;
    }
};

template <typename T, typename S>
[[max_total_threads_per_threadgroup(SINGLE_SIMDS * 32)]]
kernel void quantised_matvec_single(
    device const T *x [[buffer(0)]], device const uint *packed [[buffer(1)]],
    device const S *scales [[buffer(2)]], device const S *biases [[buffer(3)]],
    device const T *bias [[buffer(4)]], device T *out [[buffer(5)]],
    constant quantised_matvec_args &args [[buffer(6)]], uint lane [[thread_index_in_simdgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint me [[thread_index_in_threadgroup]],
    uint group [[threadgroup_position_in_grid]]) {
    threads_at_once(512);
    threadgroup uint lines[SINGLE_SIMDS][LINES * LINE_STRIDE / 2];
    threadgroup float line_sums[SINGLE_SIMDS][LINES];
    threadgroup float parts[SINGLE_SIMDS][QUANTISED_BLOCK];
    const uint groups = args.columns / GROUP_COLUMNS;
    const uint pieces = (groups + PIECE_GROUPS - 1) / PIECE_GROUPS;
    const uint across = 1u << args.across_shift, first_piece = simd & (across - 1);
    const uint batches = args.block / SINGLE_ROWS >> (3 - args.across_shift);
    const uint start = (simd >> args.across_shift) * batches * SINGLE_ROWS; /* of its rows */
    // the last block begins early enough to be whole: rows that two have get the same bits twice
    const uint first_row = min(group * args.block, args.rows - args.block);
    const ulong first_group = ulong(first_row + start) * groups;
    single_lane own;
    own.find(lane, groups);
    single_source<S> from = {(device const uint4 *)packed + first_group * GROUP_VECTORS,
                             scales + first_group,
                             biases + first_group,
                             groups,
                             pieces,
                             across,
                             batches,
                             first_piece};
    from.start(own);
    four_rows<T, S> rows[AHEAD];
#pragma unroll
    for (uint n = 0; n < AHEAD; n++) {
        if (from.more()) {
            rows[n].load(from, own);
            from.advance(own);
        }
    }
    // by way of another lane, since compilers that know it to be the same everywhere move it about
    const uint sixteens = simd_shuffle(lane ? 0u : args.sixteens, ushort(0));
    for (uint piece = first_piece; piece < pieces; piece += across) {
        const uint first = first_of(piece, groups);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        lay_out(x, args, first, piece * PIECE_GROUPS, lane, lines[simd], line_sums[simd]);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        simdgroup_matrix<T, 8, 8> xs[16];
#pragma unroll
        for (uint i = 0; i < 16; i++) {
            simdgroup_load(xs[i], (threadgroup const T *)lines[simd] + i * 8, LINE_STRIDE,
                           ulong2(0), true);
        }
        const float of_x = line_sums[simd][own.own_group];
        const bool live = first + own.own_group >= piece * PIECE_GROUPS;
        for (uint batch = 0; batch < batches; batch += AHEAD)
#pragma unroll
            for (uint n = 0; n < AHEAD; n++) {
                const float scale = float(rows[n].scale);
                const float shift = has_biases ? float(rows[n].bias) : -middle * scale;
                const float dot = rows[n].product(xs, own, sixteens);
                if (from.more()) {
                    rows[n].load(from, own);
                    from.advance(own);
                }
                float part = scale * dot + (shift - 16 * scale) * of_x;
                part = live ? part : 0.0f;
                part += simd_shuffle_xor(part, ushort(2)); // lanes with the same row, each a group
                part += simd_shuffle_xor(part, ushort(5));
                part += simd_shuffle_xor(part, ushort(24));
                threadgroup float *to =
                    &parts[first_piece][start + (batch + n) * SINGLE_ROWS + own.own_row];
                if (own.row == 0) {
                    *to = piece == first_piece ? part : *to + part;
                }
            }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (me >= args.block) {
        return;
    }
    float all = args.has_bias ? float(bias[first_row + me]) : 0.0f;
    for (uint s = 0; s < min(across, pieces); s++) {
        all += parts[s][me];
    }
    out[first_row + me] = T(all);
}

#endif
