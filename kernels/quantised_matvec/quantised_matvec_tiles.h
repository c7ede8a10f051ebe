/*
 * 4-bit weights in groups of 128 on GPUs with matrix units, for half and bfloat vectors: W x as a
 * product of tiles. A SIMD-group takes 8 * ROW_TILES rows of the weights and a share of the groups
 * of 128 columns, neighbours, so that scales come from the cache; the SIMD-groups' sums are added
 * up at the end.
 *
 * A lane loads 32 neighbouring weights of a row, as four words. Numbers p and p + 4 of a word
 * become one register of two elements without arithmetic: their bits are set into the mantissas
 * of 16.0, so that an element is 16 + q, and 16 * sum(x) is taken off with the bias. Such pairs are
 * the two neighbours that a lane has of a tile's row. The order of k that this makes of the tiles
 * is the one in which x is laid out in threadgroup memory, LINES lines of 128 elements at a time:
 * one for each vector, or, of a single vector, one for each of the next groups.
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

constant constexpr uint LINES = 8;

/* The groups of a SIMD-group lie between those of the others, so that together they read long
 * pieces of a row. */
inline uint group_at(uint simd, uint number) {
    return number * TILED_SIMDS + simd;
}

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

/* Lines of x from the SIMD-group's group `number` on, in the order of the tiles, and their sums. A
 * lane takes eight elements of every second line: those that word lane % 16 of a row's group is
 * multiplied by. */
template <typename T>
inline void lay_out(device const T *x, constant quantised_matvec_args &args, uint simd, uint number,
                    uint groups, uint lane, threadgroup uint *lines, threadgroup float *sums) {
    const uint word = lane % 16;
    uint4 eight[LINES / 2];
#pragma unroll
    for (uint i = 0; i < LINES / 2; i++) {
        const uint line = 2 * i + lane / 16;
        const uint vector = vectors == 1 ? 0 : line;
        const uint group = group_at(simd, vectors == 1 ? number + line : number);
        eight[i] = 0;
        if (vector < args.vectors && group < groups)
            eight[i] = *(device const uint4 *)(x + vector * args.x_stride +
                                               ulong(group) * GROUP_COLUMNS + word * 8);
    }
#pragma unroll
    for (uint i = 0; i < LINES / 2; i++) {
        const uint line = 2 * i + lane / 16;
        threadgroup uint *to = lines + line * (GROUP_COLUMNS / 2) + word % 4 * 16 + word / 4;
#pragma unroll
        for (uint p = 0; p < 4; p++)
            to[p * 4] = pair_of(eight[i], p);
        float sum = sum_of_eight<T>(eight[i]);
#pragma unroll
        for (ushort step = 1; step < 16; step *= 2)
            sum += simd_shuffle_xor(sum, step);
        if (word == 0)
            sums[line] = sum;
    }
}

/* Scale and bias of a group side by side, so that one shuffle moves both. */
template <typename S> struct short_pair {
    uint both;
    void set(S scale, S bias) {
        both = as_type<uint>(vec<S, 2>(scale, bias));
    }
    float2 get(ushort lane) const {
        return float2(as_type<vec<S, 2>>(simd_shuffle(both, lane)));
    }
};
template <> struct short_pair<float> {
    float2 both;
    void set(float scale, float bias) {
        both = float2(scale, bias);
    }
    float2 get(ushort lane) const {
        return float2(simd_shuffle(both.x, lane), simd_shuffle(both.y, lane));
    }
};

constant constexpr uint QUARTERS = LINES / 4; // groups of four groups of a line

/* What a lane has of the rows: weights that are used and weights that are on their way. */
struct tiled_rows {
    device const uint4 *weights;
    uint line_of[ROW_TILES]; /* the number of a row's first group, from those of the first row on */
    float2 total[ROW_TILES];
    uint4 next[ROW_TILES];

    void load(uint group) {
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++)
            next[i] = weights[(line_of[i] + group) * GROUP_VECTORS];
    }

    /* The group that was loaded by a line of x; `after` is on its way then. */
    template <typename T, typename S>
    void multiply(uint after, threadgroup const T *x, thread const short_pair<S> *pairs,
                  ushort source, threadgroup const float *sums, uint line, uint column,
                  uint sixteens) {
        uint4 now[ROW_TILES];
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++)
            now[i] = next[i];
        load(after);
        simdgroup_float8x8 sum[ROW_TILES];
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++)
            sum[i] = simdgroup_float8x8(0.0f);
#pragma unroll
        for (uint w = 0; w < 4; w++) {
#pragma unroll
            for (uint p = 0; p < 4; p++) {
                simdgroup_matrix<T, 8, 8> xs, ws;
                simdgroup_load(xs, x + (w * 4 + p) * 8, vectors == 1 ? 8 : GROUP_COLUMNS, ulong2(0),
                               true);
#pragma unroll
                for (uint i = 0; i < ROW_TILES; i++) {
                    ws.thread_elements() = sixteen_and<T>(now[i][w], p, sixteens);
                    simdgroup_multiply_accumulate(sum[i], ws, xs, sum[i]);
                }
            }
        }
        const float2 of_x =
            vectors == 1 ? float2(sums[line]) : float2(sums[column], sums[column + 1]);
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++) {
            const float2 both = pairs[i].get(source);
            const float shift = has_biases ? both.y : -middle * both.x;
            total[i] += both.x * sum[i].thread_elements() + (shift - 16 * both.x) * of_x;
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
    // a tile of one vector has that vector's next elements in its other columns, past the end too
    threadgroup uint lines[TILED_SIMDS][LINES * GROUP_COLUMNS / 2 + 32];
    threadgroup float line_sums[TILED_SIMDS][LINES];
    threadgroup float2 shared[TILED_SIMDS][ROW_TILES * 32];
    const uint row = (lane >> 4 & 1) * 4 + (lane >> 1 & 3); // of a tile, and the two columns
    const uint column = (lane >> 3 & 1) * 4 + (lane & 1) * 2;
    const uint first_row = group * (8 * ROW_TILES), groups = args.columns / GROUP_COLUMNS;
    const uint last_row = args.rows - 1 - first_row;
    const uint in_line = vectors == 1 ? LINES : 1; // groups that are laid out together
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
    rows.load(min(group_at(simd, 0), groups - 1));
    for (uint number = 0; group_at(simd, number) < groups; number += in_line) {
        // a lane has the scales of row lane / 4 of each tile, of every fourth group
        short_pair<S> pairs[ROW_TILES][QUARTERS];
#pragma unroll
        for (uint i = 0; i < ROW_TILES; i++)
#pragma unroll
            for (uint h = 0; h < (vectors == 1 ? QUARTERS : 1); h++) {
                const uint at = min(8 * i + lane / 4, last_row) * groups +
                                min(group_at(simd, number + h * 4 + lane % 4), groups - 1);
                pairs[i][h].set(scales[at], has_biases ? biases[at] : scales[at]);
            }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        lay_out(x, args, simd, number, groups, lane, lines[simd], line_sums[simd]);
        simdgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup const T *from = (threadgroup const T *)(lines[simd]);
        for (uint line = 0; line < in_line && group_at(simd, number + line) < groups; line++) {
            short_pair<S> now[ROW_TILES];
#pragma unroll
            for (uint i = 0; i < ROW_TILES; i++)
                now[i] = line < 4 ? pairs[i][0] : pairs[i][QUARTERS - 1];
            rows.multiply(min(group_at(simd, number + line + 1), groups - 1),
                          from + line * GROUP_COLUMNS, now, ushort(row * 4 + line % 4),
                          line_sums[simd], line, column, args.sixteens);
        }
    }
#pragma unroll
    for (uint i = 0; i < ROW_TILES; i++)
        shared[simd][i * 32 + lane] = rows.total[i];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (me >= ROW_TILES * 32)
        return;
    float2 all = 0;
#pragma unroll
    for (uint s = 0; s < TILED_SIMDS; s++)
        all += shared[s][me];
    const uint to = first_row + 8 * (me / 32) + row;
    if (to >= args.rows)
        return;
    const float more = args.has_bias ? float(bias[to]) : 0.0f;
#pragma unroll
    for (uint e = 0; e < 2; e++)
        if (column + e < args.vectors)
            out[(column + e) * args.out_stride + to] = T(all[e] + more);
}

#endif
