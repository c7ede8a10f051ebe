/*
 * Many rows of x times quantised weights, for GPUs whose matrix units multiply for four SIMD-groups
 * at once (matmul/matmul_warpgroups.h): each of eight SIMD-groups has 16 rows of the weights, which
 * become half or bfloat in its registers, by all rows of x of the block, whose panels lie in
 * threadgroup memory in lines of 64 elements as they are.
 *
 * So a lane needs two neighbours of each eight numbers: a byte of a word of 4 bits, two bytes of 8.
 * Panels of weights and of x go to places in turn, copied two panels ahead; the numbers of the next
 * panel are made while the matrix units multiply. The first panel may be half of one.
 */
#ifndef INGOT_KERNELS_QUANTISE_WIDE_H
#define INGOT_KERNELS_QUANTISE_WIDE_H

#include "common/threadgroups.h"
#include "quantise/quantise_rows.h"

constexpr constant uint WIDE_TALL = 2; /* tiles of a SIMD-group's rows */
constexpr constant uint WIDE_ROWS = ROW_KERNEL_SIMDS * WIDE_TALL * TILE;
constexpr constant uint WIDE_THREADS = QUANTISED_ROWS_THREADS;
constexpr constant uint SLICE_TILES = SLICE / TILE;
constexpr constant uint PUT_COLUMNS = 64; /* of the result that go out at a time */

/* ---- numbers ---- */

/* Two neighbours of 4 bits, the lowest byte of `byte`, or the two bytes of 8 bits in `two`; less
 * the middle. `large` is what they are set into (QUANTISED_LARGE_…): of 4 bits, the higher one
 * stands higher in its half, and has a smaller number of another unit. */
template <typename T> struct neighbours;
template <> struct neighbours<half> {
    static half2 four(uint byte, uint large) {
        const uint both = as_type<uint>(ushort2(ushort(byte)));
        return as_type<half2>((both & 0x00f0000fu) | large) - half2(1032, 72);
    }
    static half2 eight(uint two, uint large) {
        return number_bits<half>::eight(two | two << 8, large);
    }
};
template <> struct neighbours<bfloat> {
    static bfloat2 four(uint byte, uint large) {
        const uint both = as_type<uint>(ushort2(ushort(byte), ushort(byte >> 1)));
        return as_type<bfloat2>((both & 0x0078000fu) | large) - bfloat2(136, 24);
    }
    static bfloat2 eight(uint two, uint large) {
        return number_bits<bfloat>::eight(two | two << 8, large);
    }
};

/* Scales and biases of a lane's rows, of both halves of a panel. */
template <typename T> struct wide_scales {
    T scale[2][WIDE_TALL], bias[2][WIDE_TALL];
};

template <typename T> struct wide_source {
    device const T *scales, *biases;
    uint group[WIDE_TALL]; /* where rows begin */
    uint last, group_shift;

    /* Of what is past the end, anything. */
    void load(thread wide_scales<T> &to, uint k) thread const {
#pragma unroll
        for (uint h = 0; h < 2; h++)
#pragma unroll
            for (uint i = 0; i < WIDE_TALL; i++) {
                const uint at = group[i] + (min(k + h * SLICE / 2, last) >> group_shift);
                to.scale[h][i] = scales[at];
                to.bias[h][i] = has_biases ? biases[at] : T(0);
            }
    }
};

/* The left side of a panel's products. */
template <typename T> struct wide_left {
    simdgroup_matrix<T, 8, 8> tiles[SLICE_TILES][WIDE_TALL];

    /* In registers of their own, which products may read while others are made: `none` is 0, which
     * compilers do not know. */
    void take(thread const wide_left &made, uint none) thread {
#pragma unroll
        for (uint t = 0; t < SLICE_TILES; t++)
#pragma unroll
            for (uint i = 0; i < WIDE_TALL; i++) {
                const vec<T, 2> two = made.tiles[t][i].thread_elements();
                tiles[t][i].thread_elements() = as_type<vec<T, 2>>(as_type<uint>(two) ^ none);
            }
    }

    /* row: the lane's first of the panel of weights. */
    void make(threadgroup const uint *weights, thread const wide_scales<T> &scales, uint row,
              uint quarter, uint large) thread {
        constexpr uint LINE = SLICE / 4; /* words of 8 bits */
#pragma unroll
        for (uint i = 0; i < WIDE_TALL; i++) {
            uint words[SLICE_TILES];
            if (bits == 4) {
                threadgroup const uint4 *line =
                    (threadgroup const uint4 *)(weights + (row + i * TILE) * (LINE / 2));
                const uint4 low = line[0], high = line[1];
                words[0] = low.x, words[1] = low.y, words[2] = low.z, words[3] = low.w;
                words[4] = high.x, words[5] = high.y, words[6] = high.z, words[7] = high.w;
            } else {
                threadgroup const ushort *line =
                    (threadgroup const ushort *)(weights + (row + i * TILE) * LINE) + quarter;
#pragma unroll
                for (uint t = 0; t < SLICE_TILES; t++) {
                    words[t] = line[t * 4];
                }
            }
#pragma unroll
            for (uint t = 0; t < SLICE_TILES; t++) {
                const uint h = t / HALF_TILES;
                const float scale = float(scales.scale[h][i]);
                const float centre = fma(middle_number, scale, float(scales.bias[h][i]));
                vec<T, 2> two;
                if (bits == 4) {
                    two = neighbours<T>::four(words[t] >> quarter * 8, large);
                } else {
                    two = neighbours<T>::eight(words[t], large);
                }
                two *= vec<T, 2>(scales.scale[h][i]);
                tiles[t][i].thread_elements() = has_biases ? two + vec<T, 2>(T(centre)) : two;
            }
        }
    }
};

/* ---- copies ---- */

/* A thread's part of a panel: pieces of 16 bytes, PIECES to a line, of COUNT lines. Lines past the
 * last one are the last one. */
template <uint COUNT> struct wide_copy {
    static constexpr constant uint MOST = COUNT * 8 / WIDE_THREADS;
    uint pieces;   /* of a line */
    uint at[MOST]; /* where they are, in pieces */

    void begin(uint line_pieces, uint lines, uint stride, uint me) thread {
        pieces = line_pieces;
#pragma unroll
        for (uint i = 0; i < MOST; i++) {
            const uint line = me / pieces + i * (WIDE_THREADS / pieces);
            at[i] = min(line, lines - 1) * stride + me % pieces;
        }
    }
    bool has(uint i) thread const {
        return i * WIDE_THREADS < COUNT * pieces;
    }
    void all(threadgroup uint *panel, device const uint4 *from, uint me) thread const {
#pragma unroll
        for (uint i = 0; i < MOST; i++) {
            if (has(i)) {
                *(threadgroup uint4 *)(panel + me * 4 + i * (WIDE_THREADS * 4)) = from[at[i]];
            }
        }
    }
    /* Only the first pieces of lines; zeros for others. */
    void some(threadgroup uint *panel, device const uint4 *from, uint there, uint me) thread const {
#pragma unroll
        for (uint i = 0; i < MOST; i++) {
            uint4 piece = 0;
            if (has(i) && me % pieces < there) {
                piece = from[at[i]];
            }
            if (has(i)) {
                *(threadgroup uint4 *)(panel + me * 4 + i * (WIDE_THREADS * 4)) = piece;
            }
        }
    }
};

/* ---- products ---- */

/* The products of tiles STEP and STEP + 1 of a panel's depth. */
template <uint STEP, typename T, uint TN>
inline void add_wide_step(thread simdgroup_float8x8 (&sum)[WIDE_TALL][TN],
                          thread const wide_left<T> &left, threadgroup const T *x) {
    simdgroup_matrix<T, 8, 8> right[2];
#pragma unroll
    for (uint j = 0; j < TN; j++) {
#pragma unroll
        for (uint h = 0; h < 2; h++) {
            simdgroup_load(right[h], x + j * TILE * SLICE + (STEP + h) * TILE, SLICE, ulong2(0),
                           true);
        }
#pragma unroll
        for (uint i = 0; i < WIDE_TALL; i++)
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                simdgroup_multiply_accumulate(sum[i][j], left.tiles[STEP + h][i], right[h],
                                              sum[i][j]);
            }
    }
}

template <typename T, uint TN>
inline void add_wide(thread simdgroup_float8x8 (&sum)[WIDE_TALL][TN],
                     thread const wide_left<T> &left, threadgroup const uint *panel) {
    threadgroup const T *x = (threadgroup const T *)panel;
    add_wide_step<0>(sum, left, x); /* which no compiler would unroll */
    add_wide_step<2>(sum, left, x);
    add_wide_step<4>(sum, left, x);
    add_wide_step<6>(sum, left, x);
}

/* x_0 to x_2, w_0 to w_2: places for panels of x and of the weights; x_0 for PUT_COLUMNS by
 * WIDE_ROWS + 4 sums as well. */
template <typename T, uint TN>
[[max_total_threads_per_threadgroup(WIDE_THREADS)]]
kernel void quantised_wide(
    device const T *x [[buffer(0)]], device const uint *packed [[buffer(1)]],
    device const T *scales [[buffer(2)]], device const T *biases [[buffer(3)]],
    device const T *bias [[buffer(4)]], device T *out [[buffer(5)]],
    device uchar *parts [[buffer(6)]], constant matmul_args &args [[buffer(7)]],
    constant quantised_rows_args &more [[buffer(8)]], threadgroup uint *x_0 [[threadgroup(0)]],
    threadgroup uint *x_1 [[threadgroup(1)]], threadgroup uint *x_2 [[threadgroup(2)]],
    threadgroup uint *w_0 [[threadgroup(3)]], threadgroup uint *w_1 [[threadgroup(4)]],
    threadgroup uint *w_2 [[threadgroup(5)]], uint3 block [[threadgroup_position_in_grid]],
    uint me [[thread_index_in_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    full_threadgroups();
    constexpr uint COLUMNS = TN * TILE;
    const uint tile_row = (lane >> 4 & 1) * 4 + (lane >> 1 & 3);
    const uint quarter = (lane >> 3 & 1) * 2 + (lane & 1);
    const uint row0 = block.x * WIDE_ROWS, own_row = simd * WIDE_TALL * TILE + tile_row;
    const uint column0 = block.y * COLUMNS, columns = args.m - column0;
    const uint first = block.z * args.part_depth, end = min(args.k, first + args.part_depth);
    const uint rest = (end - first) % SLICE, begun = rest ? rest : SLICE;
    const uint panels = (end - first + SLICE - 1) / SLICE;
    const uint large = simd_shuffle(lane ? 0u : more.large, ushort(0)); // as in quantised_rows
    const uint none = simd_shuffle(lane, ushort(0));

    wide_source<T> source = {
        .scales = scales, .biases = biases, .last = args.k - 1, .group_shift = more.group_shift};
#pragma unroll
    for (uint i = 0; i < WIDE_TALL; i++) {
        source.group[i] = min(row0 + own_row + i * TILE, args.n - 1) * (args.k >> more.group_shift);
    }
    wide_copy<COLUMNS> x_copy;
    wide_copy<WIDE_ROWS> w_copy;
    constexpr uint PIECE = 8, X_PIECES = SLICE / PIECE;
    const uint w_piece = 128 / bits, w_pieces = SLICE / w_piece;
    x_copy.begin(X_PIECES, columns, uint(args.a_stride) / PIECE, me);
    w_copy.begin(w_pieces, args.n - row0, args.k / w_piece, me);
    device const uint4 *from_x = (device const uint4 *)(x + column0 * args.a_stride + first);
    device const uint4 *from_w =
        (device const uint4 *)packed + ((ulong(row0) * args.k + first) / w_piece);
    // What is copied past the end is the last 64 of k again, and not used. These may begin before
    // the part, whose only panel is half of one then.
    const int last = int(end - first) - int(SLICE);
    constexpr uint X_SHIFT = 3;
    const uint w_shift = bits == 4 ? 5 : 4;

    wide_scales<T> soon; // of the next panel
    wide_left<T> made;
    source.load(soon, first);
    w_copy.some(w_0, from_w, begun / w_piece, me);
    x_copy.some(x_0, from_x, begun / PIECE, me);
    w_copy.all(w_1, from_w + (min(int(begun), last) >> w_shift), me);
    x_copy.all(x_1, from_x + (min(int(begun), last) >> X_SHIFT), me);
    w_copy.all(w_2, from_w + (min(int(begun + SLICE), last) >> w_shift), me);
    simdgroup_float8x8 sum[WIDE_TALL][TN];
#pragma unroll
    for (uint i = 0; i < WIDE_TALL; i++)
#pragma unroll
        for (uint j = 0; j < TN; j++) {
            sum[i][j] = simdgroup_float8x8(0.0f);
        }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    made.make(w_0, soon, own_row, quarter, large);
    source.load(soon, first + begun);
    threadgroup uint *x_now = x_0, *x_next = x_1, *x_last = x_2;
    threadgroup uint *w_used = w_0, *w_next = w_1, *w_last = w_2;
    const uint past = end - first + SLICE;
    for (uint k = begun; k < past; k += SLICE) { // k: where the next panel begins
        threadgroup_barrier(mem_flags::mem_threadgroup);
        wide_left<T> left;
        left.take(made, none);
        add_wide<T, TN>(sum, left, x_now);
        made.make(w_next, soon, own_row, quarter, large);
        source.load(soon, first + k + SLICE);
        x_copy.all(x_last, from_x + (min(int(k + SLICE), last) >> X_SHIFT), me);
        w_copy.all(w_used, from_w + (min(int(k + 2 * SLICE), last) >> w_shift), me);
        threadgroup uint *const x_done = x_now, *const w_done = w_used;
        x_now = x_next, x_next = x_last, x_last = x_done;
        w_used = w_next, w_next = w_last, w_last = w_done;
    }
    constexpr uint SUM_LINE = WIDE_ROWS + 4, PUT_TILES = PUT_COLUMNS / TILE;
    threadgroup float *const lines = (threadgroup float *)x_0;
    threadgroup_barrier(mem_flags::mem_threadgroup); // after the next one all copies are over
    const uint row = row0 + me % WIDE_ROWS;
#pragma unroll
    for (uint j0 = 0; j0 < TN; j0 += PUT_TILES) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint j = 0; j < PUT_TILES; j++)
#pragma unroll
            for (uint i = 0; i < WIDE_TALL; i++) {
                const float2 two = sum[i][j0 + j].thread_elements();
                threadgroup float *to =
                    lines + (j * TILE + quarter * 2) * SUM_LINE + own_row + i * TILE;
                to[0] = two.x;
                to[SUM_LINE] = two.y;
            }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint c = me / WIDE_ROWS; c < PUT_COLUMNS && j0 * TILE + c < columns && row < args.n;
             c += WIDE_THREADS / WIDE_ROWS) {
            put(lines[c * SUM_LINE + me % WIDE_ROWS], block.z, column0 + j0 * TILE + c, row, bias,
                out, parts, args);
        }
    }
}

#define INSTANTIATE_WIDE(t, type)                                                                  \
    INSTANTIATE_KERNEL("quantised_wide_64_" #t, quantised_wide<type, 8>)                           \
    INSTANTIATE_KERNEL("quantised_wide_128_" #t, quantised_wide<type, 16>)                         \
    INSTANTIATE_KERNEL("quantised_wide_256_" #t, quantised_wide<type, 32>)
INSTANTIATE_WIDE(f16, half)
INSTANTIATE_WIDE(bf16, bfloat)

#endif
