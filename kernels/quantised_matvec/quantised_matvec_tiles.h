/*
 * 4-bit weights in groups of 128 on GPUs with matrix units, for 2 to 8 vectors of half or bfloat:
 * W x as a product of tiles. A SIMD-group takes 8 * ROW_TILES rows of the weights and every
 * TILED_SIMDS-th group of 128 columns, so that the SIMD-groups together read long pieces of a row;
 * their sums are added up at the end.
 *
 * A lane loads 32 neighbouring weights of a row, as four words. Numbers p and p + 4 of a word
 * become one register of two elements without arithmetic: their bits are set into the mantissas
 * of 16.0, so that an element is 16 + q, and 16 * sum(x) is taken off with the bias. Such pairs are
 * the two neighbours that a lane has of a tile's row. The order of k that this makes of the tiles
 * is the one in which x is laid out in threadgroup memory, a line of 128 elements for each vector.
 */
#ifndef INGOT_KERNELS_QUANTISED_MATVEC_TILES_H
#define INGOT_KERNELS_QUANTISED_MATVEC_TILES_H

constant constexpr uint ROW_TILES = 4, TILED_SIMDS = 8, GROUP_COLUMNS = 128;
constant constexpr uint GROUP_VECTORS = GROUP_COLUMNS / 32; // of four words

/* Numbers p and p + 4 of a word, each as 16 + q. `sixteens` is twice 16.0, and the host's: one
 * instruction masks and sets bits only where one of the two constants is not known to it. */
template <typename T> inline vec<T, 2> sixteen_and(uint word, uint p, uint sixteens);
template <> inline half2 sixteen_and<half>(uint word, uint p, uint sixteens) {
    uint placed = p == 0 ? word << 6 : p == 1 ? word << 2 : p == 2 ? word >> 2 : word >> 6;
    return as_type<half2>((placed & 0x03c003c0u) | sixteens);
}
template <> inline bfloat2 sixteen_and<bfloat>(uint word, uint p, uint sixteens) {
    uint placed = p == 0 ? word << 3 : word >> (4 * p - 3);
    return as_type<bfloat2>((placed & 0x00780078u) | sixteens);
}

/* Elements from one line to the next: a little more, so that lines begin in different banks. */
constant constexpr uint LINES = 8, LINE_STRIDE = GROUP_COLUMNS + 8;

/* Two of eight elements, `which` and `which` + 4, side by side. */
inline uint pair_of(uint4 eight, uint which) {
    uint low = which < 2 ? eight.x : eight.y, high = which < 2 ? eight.z : eight.w;
    return which & 1 ? low >> 16 | (high & 0xffff0000u) : (low & 0xffffu) | high << 16;
}

template <typename T> inline float sum_of_eight(uint4 eight) {
    float4 low = float4(as_type<vec<T, 4>>(eight.xy)), high = float4(as_type<vec<T, 4>>(eight.zw));
    float4 both = low + high;
    return (both.x + both.y) + (both.z + both.w);
}

/* Lines of x in the order of the tiles, and their sums: the elements of group `first` of all
 * vectors, or, of a single vector, of that and the next groups, with zeros for groups below
 * `least`. A lane takes eight elements of every second line: those that word lane % 16 of a row's
 * group is multiplied by. */
template <typename T>
inline void lay_out(device const T *x, constant quantised_matvec_args &args, uint first, uint least,
                    uint lane, threadgroup uint *lines, threadgroup float *sums) {
    const uint word = lane % 16;
    uint4 eight[LINES / 2];
#pragma unroll
    for (uint i = 0; i < LINES / 2; i++) {
        const uint line = 2 * i + lane / 16;
        const uint vector = vectors == 1 ? 0 : line, group = vectors == 1 ? first + line : first;
        eight[i] = 0;
        if (vector < args.vectors && group >= least) {
            eight[i] = *(device const uint4 *)(x + vector * args.x_stride +
                                               ulong(group) * GROUP_COLUMNS + word * 8);
        }
    }
#pragma unroll
    for (uint i = 0; i < LINES / 2; i++) {
        const uint line = 2 * i + lane / 16;
        threadgroup uint *to = lines + line * (LINE_STRIDE / 2) + word % 4 * 16 + word / 4;
#pragma unroll
        for (uint p = 0; p < 4; p++) {
            to[p * 4] = pair_of(eight[i], p);
        }
        float sum = sum_of_eight<T>(eight[i]);
#pragma unroll
        for (ushort step = 1; step < 16; step *= 2) {
            sum += simd_shuffle_xor(sum, step);
        }
        if (word == 0) {
            sums[line] = sum;
        }
    }
}

/* What a lane has of the rows: weights that are used and weights that are on their way. */
struct tiled_rows {
    device const uint4 *weights;
    uint line_of[ROW_TILES]; /* the number of a row's first group, from those of the first row on */
    float2 total[ROW_TILES];
    uint4 next[ROW_TILES];

    void load(uint group) {
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++) {
            next[i] = weights[(line_of[i] + group) * GROUP_VECTORS];
        }
    }

    /* The group that was loaded by all vectors; `after` is on its way then. */
    template <typename T>
    void multiply(uint after, threadgroup const T *x, thread const float2 *scales, float2 of_x,
                  uint sixteens) {
        uint4 now[ROW_TILES];
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++) {
            now[i] = next[i];
        }
        load(after);
        simdgroup_float8x8 sum[ROW_TILES];
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++) {
            sum[i] = simdgroup_float8x8(0.0f);
        }
#pragma unroll
        for (uint w = 0; w < 4; w++) {
#pragma unroll
            for (uint p = 0; p < 4; p++) {
                simdgroup_matrix<T, 8, 8> xs, ws;
                simdgroup_load(xs, x + (w * 4 + p) * 8, LINE_STRIDE, ulong2(0), true);
#pragma unroll
                for (uint i = 0; i < ROW_TILES; i++) {
                    ws.thread_elements() = sixteen_and<T>(now[i][w], p, sixteens);
                    simdgroup_multiply_accumulate(sum[i], ws, xs, sum[i]);
                }
            }
        }
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++) {
            const float shift = has_biases ? scales[i].y : -middle * scales[i].x;
            total[i] += scales[i].x * sum[i].thread_elements() + (shift - 16 * scales[i].x) * of_x;
        }
    }
};

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
    threadgroup uint lines[TILED_SIMDS][LINES * LINE_STRIDE / 2];
    threadgroup float line_sums[TILED_SIMDS][LINES];
    threadgroup float2 shared[TILED_SIMDS][ROW_TILES * 32];
    const uint row = (lane >> 4 & 1) * 4 + (lane >> 1 & 3); // of a tile, and the two columns
    const uint column = (lane >> 3 & 1) * 4 + (lane & 1) * 2;
    const uint first_row = group * (8 * ROW_TILES), groups = args.columns / GROUP_COLUMNS;
    const uint last_row = args.rows - 1 - first_row;
    device const uint4 *weights_of =
        (device const uint4 *)packed + ulong(first_row) * groups * GROUP_VECTORS;
    scales += ulong(first_row) * groups;
    biases += ulong(first_row) * groups;
    tiled_rows rows;
    rows.weights = weights_of + column / 2;
#pragma unroll
    for (uint i = 0; i < ROW_TILES; i++) {
        rows.line_of[i] = min(8 * i + row, last_row) * groups;
        rows.total[i] = 0;
    }
    rows.load(min(simd, groups - 1));
    for (uint at = simd; at < groups; at += TILED_SIMDS) {
        float2 own[ROW_TILES]; /* scales and biases */
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++) {
            const S scale = scales[rows.line_of[i] + at];
            own[i] = float2(scale, has_biases ? biases[rows.line_of[i] + at] : scale);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        lay_out(x, args, at, 0, lane, lines[simd], line_sums[simd]);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        const float2 of_x = float2(line_sums[simd][column], line_sums[simd][column + 1]);
        rows.multiply(min(at + TILED_SIMDS, groups - 1), (threadgroup const T *)(lines[simd]), own,
                      of_x, args.sixteens);
    }
#pragma unroll
    for (uint i = 0; i < ROW_TILES; i++) {
        shared[simd][i * 32 + lane] = rows.total[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (me >= ROW_TILES * 32) {
        return;
    }
    float2 all = 0;
#pragma unroll
    for (uint s = 0; s < TILED_SIMDS; s++) {
        all += shared[s][me];
    }
    const uint to = first_row + 8 * (me / 32) + row;
    if (to >= args.rows) {
        return;
    }
    const float more = args.has_bias ? float(bias[to]) : 0.0f;
#pragma unroll
    for (uint e = 0; e < 2; e++) {
        if (column + e < args.vectors) {
            out[(column + e) * args.out_stride + to] = T(all[e] + more);
        }
    }
}

#endif
