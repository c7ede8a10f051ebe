/*
 * Some rows of x (up to some hundred) times quantised weights, for GPUs with matrix units: weights
 * are read once, and become half or bfloat in registers, on their way to the products.
 *
 * The weights are the left side: a SIMD-group has 32 of their rows by all columns of the block
 * (rows of x), and 64 of k at a time, its slice of a panel. ROW_SIMDS SIMD-groups lie along the
 * rows, the others along k; their sums are added up at the end, always in the same order.
 *
 * A lane loads the 16 neighbouring numbers of a row that lie at 16 times its quarter of the slice;
 * of groups of 32, eight of each half of the slice, so that the first four tiles of a slice are of
 * one group, and the others too. Numbers 4 (of 8 bits: 2) apart of a word become two elements of a
 * register: their bits are set into the mantissas of a number so large that their unit is its last
 * bit, and that number is taken off. The order of k that this makes of the tiles is the one in
 * which x is laid out in threadgroup memory.
 *
 * Up to 16 columns (LATE) scales are for the sums of four tiles, so that products are of the exact
 * numbers. With more of them it is less work to multiply the weights, which rounds them as
 * dequantise does.
 *
 * Weights, scales and x are on their way while panels before them are multiplied.
 */
#ifndef INGOT_KERNELS_QUANTISE_ROWS_H
#define INGOT_KERNELS_QUANTISE_ROWS_H

#include <metal_simdgroup_matrix>

#include "common/tile.h"
#include "matmul/matmul_finish.h"

constexpr constant uint ROW_KERNEL_SIMDS = QUANTISED_ROWS_THREADS / 32;
constexpr constant uint SLICE = QUANTISED_SLICE, SLICE_PIECES = SLICE / 8; /* of 16 bytes */
constexpr constant uint SIMD_ROWS = 32, SIMD_TILES = SIMD_ROWS / TILE;
constexpr constant uint HALF_TILES = SLICE / TILE / 2; /* along k, of half a slice */
constexpr constant uint LANE_WORDS = 4; /* of a lane's numbers in a slice, of 8 bits */

/* ---- numbers ---- */

/* Numbers in both halves of a word, less the middle: set into `large` (QUANTISED_LARGE_…). */
template <typename T> struct number_bits;
template <> struct number_bits<half> {
    static half2 four(uint word, uint large) {
        return as_type<half2>((word & 0x000f000fu) | large) - half2(1032);
    }
    static half2 eight(uint word, uint large) {
        return as_type<half2>((word & 0x00ff00ffu) | large) - half2(1152);
    }
};
template <> struct number_bits<bfloat> {
    static bfloat2 four(uint word, uint large) {
        return as_type<bfloat2>((word & 0x000f000fu) | large) - bfloat2(136);
    }
    /* The highest bit makes 256 of 128. All of these are whole numbers up to 256, and exact. */
    static bfloat2 eight(uint word, uint large) {
        const bfloat2 low = as_type<bfloat2>((word & 0x007f007fu) | large);
        const bfloat2 high = as_type<bfloat2>((word & 0x00800080u) | large) - bfloat2(384);
        return low + high;
    }
};

/* The 16 numbers of a lane: eight, and eight more. */
struct lane_numbers {
    uint words[LANE_WORDS];

    void load(device const uint *low, device const uint *high, bool apart) thread {
        if (bits == 4) {
            uint2 both;
            if (apart) {
                both = uint2(*low, *high);
            } else {
                both = *(device const uint2 *)low;
            }
            words[0] = both.x, words[1] = both.y;
        } else {
            uint4 both;
            if (apart) {
                both = uint4(*(device const uint2 *)low, *(device const uint2 *)high);
            } else {
                both = *(device const uint4 *)low;
            }
            words[0] = both.x, words[1] = both.y, words[2] = both.z, words[3] = both.w;
        }
    }
    /* The two of tile `tile` (0 to 7), less the middle. */
    template <typename T> vec<T, 2> two(uint tile, uint large) thread const {
        if (bits == 4) {
            return number_bits<T>::four(words[tile / 4] >> tile % 4 * 4, large);
        }
        return number_bits<T>::eight(words[tile / 2] >> tile % 2 * 8, large);
    }
};

/* Elements of a piece of x that belong to pair `pair` (0 to 3) of its tiles. */
inline uint pair_of_piece(uint4 piece, uint pair) {
    if (bits == 4) { /* pair and pair + 4 */
        const uint low = pair < 2 ? piece.x : piece.y, high = pair < 2 ? piece.z : piece.w;
        return pair & 1 ? low >> 16 | (high & 0xffff0000u) : (low & 0xffffu) | high << 16;
    }
    const uint low = pair < 2 ? piece.x : piece.z, high = pair < 2 ? piece.y : piece.w;
    return pair & 1 ? low >> 16 | (high & 0xffff0000u) : (low & 0xffffu) | high << 16;
}

/* ---- what is on its way ---- */

/* The weights of a lane's part of a slice: numbers, and scales and biases of its four rows, of both
 * halves of the slice where groups are so small. */
template <typename T> struct lane_weights {
    lane_numbers numbers[SIMD_TILES];
    T scale[2][SIMD_TILES], bias[2][SIMD_TILES];
};

template <typename T> struct weights_source {
    device const uint *packed;
    device const T *scales, *biases;
    uint first_row, last_row, columns, group_shift, quarter; /* a group is 1 << this */

    bool halves() thread const {
        return group_shift == 5;
    }
    /* `slice`: where it begins. What is past the end of a row is its end again. */
    void load(thread lane_weights<T> &to, uint slice) thread const {
        const uint own = slice + quarter * (halves() ? 8 : 16);
        const uint low = min(own, columns - (halves() ? 8 : 16));
        const uint high = min(own + 32, columns - 8);
#pragma unroll
        for (uint i = 0; i < SIMD_TILES; i++) {
            const uint row = min(first_row + i * TILE, last_row);
            const uint group = row * (columns >> group_shift);
            device const uint *line = packed + row * (columns / per_word);
            to.numbers[i].load(line + low / per_word, line + high / per_word, halves());
            to.scale[0][i] = scales[group + (low >> group_shift)];
            to.bias[0][i] = has_biases ? biases[group + (low >> group_shift)] : T(0);
            to.scale[1][i] = to.bias[1][i] = T(0);
            if (halves()) {
                to.scale[1][i] = scales[group + (high >> group_shift)];
                to.bias[1][i] = has_biases ? biases[group + (high >> group_shift)] : T(0);
            }
        }
    }
    /* Of a half, what the middle stands for, and what a unit. */
    float scale(thread const lane_weights<T> &of, uint half_of, uint i) thread const {
        return float(half_of && halves() ? of.scale[1][i] : of.scale[0][i]);
    }
    float centre(thread const lane_weights<T> &of, uint half_of, uint i) thread const {
        const float bias = float(half_of && halves() ? of.bias[1][i] : of.bias[0][i]);
        return fma(middle_number, scale(of, half_of, i), bias);
    }
};

/* A thread's pieces of a panel of x, COLUMNS rows of it by DEPTH of k: each eighth of a
 * SIMD-group's lanes has a slice of one row. A line of the panel has MORE words than it needs. */
template <typename T, uint COLUMNS, uint DEPTH, uint MORE> struct x_pieces {
    static constexpr constant uint COUNT = COLUMNS * DEPTH / 8 / QUANTISED_ROWS_THREADS;
    static constexpr constant uint LINE = DEPTH / 2 + MORE;
    uint4 pieces[COUNT];

    /* x: of the block's first row and the part's first k; `depth` of k are left there. */
    void load(device const T *x, uint stride, uint rows, uint depth, uint k, uint me) thread {
#pragma unroll
        for (uint i = 0; i < COUNT; i++) {
            const uint number = i * QUANTISED_ROWS_THREADS + me, slice = number / (8 * COLUMNS);
            const uint row = min(number / 8 % COLUMNS, rows - 1);
            const uint at = k + slice * SLICE + number % 8 * 8;
            pieces[i] = 0;
            if (at < depth) { // and nothing that waits for what is loaded
                pieces[i] = *(device const uint4 *)(x + (row * stride + at));
            }
        }
    }
    void store(threadgroup uint *panel, bool halves, uint me) thread const {
#pragma unroll
        for (uint i = 0; i < COUNT; i++) {
            const uint number = i * QUANTISED_ROWS_THREADS + me, slice = number / (8 * COLUMNS);
            const uint row = number / 8 % COLUMNS, piece = number % 8;
            const uint quarter = halves ? piece % 4 : piece / 2,
                       later = halves ? piece / 4 : piece % 2;
            threadgroup uint *to = panel + row * LINE + slice * (SLICE / 2) + later * 16 + quarter;
#pragma unroll
            for (uint p = 0; p < 4; p++) {
                to[p * 4] = pair_of_piece(pieces[i], p);
            }
        }
    }
};

/* ---- products ---- */

template <typename T, uint TN>
inline void load_x(thread simdgroup_matrix<T, 8, 8> (&to)[TN][2], threadgroup const T *x,
                   uint line) {
#pragma unroll
    for (uint j = 0; j < TN; j++)
#pragma unroll
        for (uint h = 0; h < 2; h++) {
            simdgroup_load(to[j][h], x + j * TILE * line + h * TILE, line, ulong2(0), true);
        }
}

/* Half a slice of the weights by the panel's lines of x: weights are rounded first. */
template <typename T, uint TN>
inline void add_early(thread simdgroup_float8x8 (&sum)[SIMD_TILES][TN],
                      thread const weights_source<T> &source, thread const lane_weights<T> &weights,
                      uint half_of, threadgroup const T *x, uint line, uint large) {
    vec<T, 2> scale[SIMD_TILES], centre[SIMD_TILES];
#pragma unroll
    for (uint i = 0; i < SIMD_TILES; i++) {
        scale[i] = vec<T, 2>(T(source.scale(weights, half_of, i)));
        centre[i] = vec<T, 2>(T(source.centre(weights, half_of, i)));
    }
#pragma unroll
    for (uint step = 0; step < HALF_TILES; step += 2) {
        simdgroup_matrix<T, 8, 8> left[2][SIMD_TILES], right[1][2];
#pragma unroll
        for (uint i = 0; i < SIMD_TILES; i++)
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                const uint tile = half_of * HALF_TILES + step + h;
                vec<T, 2> two = weights.numbers[i].template two<T>(tile, large) * scale[i];
                left[h][i].thread_elements() = has_biases ? two + centre[i] : two;
            }
#pragma unroll
        for (uint j = 0; j < TN; j++) {
            load_x<T, 1>(right, x + j * TILE * line + step * TILE, line);
#pragma unroll
            for (uint i = 0; i < SIMD_TILES; i++)
#pragma unroll
                for (uint h = 0; h < 2; h++) {
                    simdgroup_multiply_accumulate(sum[i][j], left[h][i], right[0][h], sum[i][j]);
                }
        }
    }
}

/* The same with the numbers as they are; then their sums are multiplied. The centre is for the sum
 * of x, which is a product too: by a tile of ones. */
template <typename T, uint TN>
inline void add_late(thread simdgroup_float8x8 (&sum)[SIMD_TILES][TN],
                     thread const weights_source<T> &source, thread const lane_weights<T> &weights,
                     uint half_of, threadgroup const T *x, uint line, uint large) {
    simdgroup_float8x8 part[SIMD_TILES][TN], of_x[TN];
#pragma unroll
    for (uint j = 0; j < TN; j++) {
        of_x[j] = simdgroup_float8x8(0.0f);
#pragma unroll
        for (uint i = 0; i < SIMD_TILES; i++) {
            part[i][j] = simdgroup_float8x8(0.0f);
        }
    }
    const simdgroup_matrix<T, 8, 8> ones = make_filled_simdgroup_matrix<T, 8, 8>(T(1));
#pragma unroll
    for (uint step = 0; step < HALF_TILES; step += 2) {
        simdgroup_matrix<T, 8, 8> left[2][SIMD_TILES], right[TN][2];
        load_x<T, TN>(right, x + step * TILE, line);
#pragma unroll
        for (uint i = 0; i < SIMD_TILES; i++)
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                const uint tile = half_of * HALF_TILES + step + h;
                left[h][i].thread_elements() = weights.numbers[i].template two<T>(tile, large);
            }
#pragma unroll
        for (uint j = 0; j < TN; j++)
#pragma unroll
            for (uint h = 0; h < 2; h++) {
#pragma unroll
                for (uint i = 0; i < SIMD_TILES; i++) {
                    simdgroup_multiply_accumulate(part[i][j], left[h][i], right[j][h], part[i][j]);
                }
                if (has_biases) {
                    simdgroup_multiply_accumulate(of_x[j], ones, right[j][h], of_x[j]);
                }
            }
    }
#pragma unroll
    for (uint i = 0; i < SIMD_TILES; i++) {
        const float scale = source.scale(weights, half_of, i);
        const float centre = source.centre(weights, half_of, i);
#pragma unroll
        for (uint j = 0; j < TN; j++) {
            float2 all = fma(float2(part[i][j].thread_elements()), scale,
                             float2(sum[i][j].thread_elements()));
            if (has_biases) {
                all = fma(float2(of_x[j].thread_elements()), centre, all);
            }
            sum[i][j].thread_elements() = all;
        }
    }
}

/* args: those of out = x w', with parts of k that are whole panels. x and packed begin at multiples
 * of 16 bytes, and so do the rows of x. room: for two panels of x, or for the sums. */
template <typename T, uint TN, uint ROW_SIMDS, uint AHEAD, uint X_AHEAD, bool LATE>
[[max_total_threads_per_threadgroup(QUANTISED_ROWS_THREADS)]]
kernel void quantised_rows(
    device const T *x [[buffer(0)]], device const uint *packed [[buffer(1)]],
    device const T *scales [[buffer(2)]], device const T *biases [[buffer(3)]],
    device const T *bias [[buffer(4)]], device T *out [[buffer(5)]],
    device uchar *parts [[buffer(6)]], constant matmul_args &args [[buffer(7)]],
    constant quantised_rows_args &more [[buffer(8)]], threadgroup uint *room [[threadgroup(0)]],
    uint3 block [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threads_at_once(512);
    constexpr uint DEEP_SIMDS = ROW_KERNEL_SIMDS / ROW_SIMDS;
    constexpr uint DEPTH = DEEP_SIMDS * SLICE, COLUMNS = TN * TILE;
    typedef x_pieces<T, COLUMNS, DEPTH, 4> pieces;
    constexpr uint PANEL = COLUMNS * pieces::LINE;

    const uint tile_row = (lane >> 4 & 1) * 4 + (lane >> 1 & 3);
    const uint quarter = (lane >> 3 & 1) * 2 + (lane & 1);
    const uint row_simd = simd % ROW_SIMDS, slice = simd / ROW_SIMDS;
    const uint first_row = (block.x * ROW_SIMDS + row_simd) * SIMD_ROWS + tile_row;
    const uint first_column = block.y * COLUMNS, columns = args.m - first_column;
    const uint first = block.z * args.part_depth, end = min(args.k, first + args.part_depth);
    const uint panels = (end - first + DEPTH - 1) / DEPTH;
    weights_source<T> source = {.packed = packed,
                                .scales = scales,
                                .biases = biases,
                                .first_row = first_row,
                                .last_row = args.n - 1,
                                .columns = args.k,
                                .group_shift = more.group_shift,
                                .quarter = quarter};
    device const T *const of_x = x + first_column * args.a_stride + first;
    const uint own = first + slice * SLICE;
    // by way of another lane, since compilers that know it to be the same everywhere move it about
    const uint large = simd_shuffle(lane ? 0u : more.large, ushort(0));

    lane_weights<T> weights[AHEAD]; // panel n in number n % AHEAD, all but one on their way
#pragma unroll
    for (uint n = 0; n < AHEAD - 1; n++) {
        source.load(weights[n], own + n * DEPTH);
    }
    pieces coming[X_AHEAD]; // panel n in number n % X_AHEAD
#pragma unroll
    for (uint n = 0; n < X_AHEAD; n++) {
        coming[n].load(of_x, uint(args.a_stride), columns, end - first, n * DEPTH, me);
    }
    simdgroup_float8x8 sum[SIMD_TILES][TN];
#pragma unroll
    for (uint i = 0; i < SIMD_TILES; i++)
#pragma unroll
        for (uint j = 0; j < TN; j++) {
            sum[i][j] = simdgroup_float8x8(0.0f);
        }
    coming[0].store(room, source.halves(), me);
    coming[0].load(of_x, uint(args.a_stride), columns, end - first, X_AHEAD * DEPTH, me);
    for (uint panel = 0; panel < panels; panel += AHEAD) {
#pragma unroll
        for (uint n = 0; n < AHEAD; n++) {
            const uint now = panel + n;
            if (now < panels) {
                threadgroup_barrier(mem_flags::mem_threadgroup);
                // here, where nobody needs any more what was in its place
                source.load(weights[(n + AHEAD - 1) % AHEAD], own + (now + AHEAD - 1) * DEPTH);
                thread pieces &next = coming[(n + 1) % X_AHEAD];
                next.store(room + (now + 1) % 2 * PANEL, source.halves(), me);
                next.load(of_x, uint(args.a_stride), columns, end - first,
                          (now + 1 + X_AHEAD) * DEPTH, me);
                const thread lane_weights<T> &used = weights[n];
                threadgroup const T *of_slice =
                    (threadgroup const T *)(room + now % 2 * PANEL) + slice * SLICE;
#pragma unroll
                for (uint h = 0; h < 2; h++) {
                    threadgroup const T *lines = of_slice + h * HALF_TILES * TILE;
                    if (LATE) {
                        add_late<T, TN>(sum, source, used, h, lines, pieces::LINE * 2, large);
                    } else {
                        add_early<T, TN>(sum, source, used, h, lines, pieces::LINE * 2, large);
                    }
                }
            }
        }
    }
    constexpr uint ROWS = ROW_SIMDS * SIMD_ROWS, SUM_LINE = ROWS + 4, SUMS = COLUMNS * SUM_LINE;
    threadgroup float *const lines = (threadgroup float *)room;
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint j = 0; j < TN; j++)
#pragma unroll
        for (uint i = 0; i < SIMD_TILES; i++) {
            const float2 two = sum[i][j].thread_elements();
            threadgroup float *to = lines + slice * SUMS + (j * TILE + quarter * 2) * SUM_LINE +
                                    row_simd * SIMD_ROWS + i * TILE + tile_row;
            to[0] = two.x;
            to[SUM_LINE] = two.y;
        }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const uint row = block.x * ROWS + me % ROWS;
    for (uint column = me / ROWS; column < min(columns, COLUMNS) && row < args.n;
         column += QUANTISED_ROWS_THREADS / ROWS) {
        float all = 0;
#pragma unroll
        for (uint s = 0; s < DEEP_SIMDS; s++) {
            all += lines[s * SUMS + column * SUM_LINE + me % ROWS];
        }
        put(all, block.z, first_column + column, row, bias, out, parts, args);
    }
}

#define INSTANTIATE_ROWS(t, type)                                                                  \
    INSTANTIATE_KERNEL("quantised_rows_8_" #t, quantised_rows<type, 1, 1, 3, 1, true>)             \
    INSTANTIATE_KERNEL("quantised_rows_16_" #t, quantised_rows<type, 2, 1, 3, 1, true>)            \
    INSTANTIATE_KERNEL("quantised_rows_32_" #t, quantised_rows<type, 4, 2, 3, 1, false>)           \
    INSTANTIATE_KERNEL("quantised_rows_64_" #t, quantised_rows<type, 8, 4, 2, 1, false>)
INSTANTIATE_ROWS(f16, half)
INSTANTIATE_ROWS(bf16, bfloat)

#endif
