/*
 * Large products of half and bfloat on GPUs: a threadgroup of two, four or eight SIMD-groups makes
 * 64, 128 or 256 rows by 128 columns of the result, each 64 by 64 with all sums in registers.
 * Panels go to three places of threadgroup memory in turn: while one is used, the second next is
 * copied, in pieces of 16 bytes that no thread looks at before the next but one barrier.
 *
 * Wants operands and result aligned to 16 bytes, k and n in whole pieces, and m too if a is
 * transposed: the host sees to that, and to the lengths of threadgroup memory. Rows and columns
 * past the end are the last ones again; what comes of them is not stored.
 */
#ifndef INGOT_KERNELS_MATMUL_BLOCKS_H
#define INGOT_KERNELS_MATMUL_BLOCKS_H

constant bool block_b_transposed [[function_constant(0)]]; /* b has n rows of k */
constant bool block_a_transposed [[function_constant(1)]]; /* a has k rows of m */

constexpr constant uint BLOCK = MATMUL_BLOCK, BLOCK_DEPTH = MATMUL_DEPTH;
constexpr constant uint BLOCK_TILES = 8;                /* of a SIMD-group, in each direction */
constexpr constant uint BLOCK_GROUP = 8;                /* rows of blocks that are made together */
constexpr constant uint DEEP_LINE = MATMUL_LINE;        /* of a panel with k along its lines */
constexpr constant uint B_LINE = BLOCK + LANE_ELEMENTS; /* of one of b with n along them */
constexpr constant uint BLOCK_STEP = 2 * TILE;          /* of k: what the matrix units take */
constexpr constant uint BLOCK_STEPS = BLOCK_DEPTH / BLOCK_STEP, COPY_STEPS = BLOCK_STEPS / 2;

/* What a SIMD-group needs of threadgroup memory for half of its sums. */
constexpr constant uint PUT_FLOATS = BLOCK_TILES / 2 * TILE * (BLOCK_TILES + 1) * TILE;

/* What lines of so many elements have, in whole pieces. */
inline uint whole_pieces(uint count) {
    return (count + LANE_ELEMENTS - 1) / LANE_ELEMENTS * LANE_ELEMENTS;
}

/* One thread's part of a panel of COUNT rows or columns: pieces of every lines()-th line of a
 * matrix whose lines are along k (deep) or along m or n. */
template <typename T, uint COUNT, uint THREADS, uint DEPTH = BLOCK_DEPTH> struct panel_copy {
    static constexpr constant uint PIECES = COUNT * DEPTH / LANE_ELEMENTS / THREADS;
    bool deep;
    device const T *from;
    ulong stride;
    uint line, last; /* of deep panels: the first line that is copied, and the matrix's last one */
    uint to;

    uint along() thread const {
        return (deep ? DEPTH : COUNT) / LANE_ELEMENTS;
    }
    uint lines() thread const {
        return THREADS / along();
    }
    uint width() thread const {
        return (deep ? DEPTH : COUNT) + LANE_ELEMENTS;
    }
    void begin(device const T *matrix, uint first, uint count, uint me) thread {
        const uint x = me % along() * LANE_ELEMENTS, y = me / along();
        line = first + y;
        last = count - 1;
        to = y * width() + x;
        from =
            matrix + (deep ? x : y * stride + min(first + x, whole_pieces(count) - LANE_ELEMENTS));
    }
    /* What of it goes with one step of the panel before: all with the first COPY_STEPS. */
    void part(threadgroup T *panel, uint step) thread const {
#pragma unroll
        for (uint i = step * PIECES / COPY_STEPS; i < (step + 1) * PIECES / COPY_STEPS; i++) {
            const ulong at = (deep ? min(line + i * lines(), last) : i * lines()) * stride;
            *(threadgroup uint4 *)(panel + to + i * lines() * width()) =
                *(device const uint4 *)(from + at);
        }
    }
    void all(threadgroup T *panel) thread const {
#pragma unroll
        for (uint step = 0; step < COPY_STEPS; step++) {
            part(panel, step);
        }
    }
    /* A panel of which the matrix has only `depth` of k; the others are zeros. */
    void some(threadgroup T *panel, uint depth) thread const {
        const uint x = to % width(), y = to / width();
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            const ulong at = (deep ? min(line + i * lines(), last) : i * lines()) * stride;
            uint4 piece = 0;
            if ((deep ? x : y + i * lines()) < depth) {
                piece = *(device const uint4 *)(from + at);
            }
            *(threadgroup uint4 *)(panel + to + i * lines() * width()) = piece;
        }
    }
    void next(uint depth) thread {
        from += deep ? depth : depth * stride;
    }
};

/* Operands of one step, of panels whose lines go along k (DEEP_LINE) or along rows or columns. */
template <uint FLAT_LINE, uint DEEP_LINE, typename T, uint TALL>
inline void load_left(thread simdgroup_matrix<T, 8, 8> (&left)[2][TALL], threadgroup const T *a,
                      uint k) {
#pragma unroll
    for (uint i = 0; i < TALL; i++)
#pragma unroll
        for (uint h = 0; h < 2; h++) {
            if (block_a_transposed) {
                simdgroup_load(left[h][i], a + (k + h * TILE) * FLAT_LINE + i * TILE, FLAT_LINE,
                               ulong2(0), true);
            } else {
                simdgroup_load(left[h][i], a + i * TILE * DEEP_LINE + k + h * TILE, DEEP_LINE);
            }
        }
}
template <uint FLAT_LINE, uint DEEP_LINE, typename T, uint WIDE>
inline void load_right(thread simdgroup_matrix<T, 8, 8> (&right)[2][WIDE], threadgroup const T *b,
                       uint k) {
#pragma unroll
    for (uint j = 0; j < WIDE; j++)
#pragma unroll
        for (uint h = 0; h < 2; h++) {
            if (block_b_transposed) {
                simdgroup_load(right[h][j], b + j * TILE * DEEP_LINE + k + h * TILE, DEEP_LINE,
                               ulong2(0), true);
            } else {
                simdgroup_load(right[h][j], b + (k + h * TILE) * FLAT_LINE + j * TILE, FLAT_LINE);
            }
        }
}
template <typename T, uint TALL, uint WIDE>
inline void add_tiles(thread simdgroup_float8x8 (&sum)[TALL][WIDE],
                      thread const simdgroup_matrix<T, 8, 8> (&left)[2][TALL],
                      thread const simdgroup_matrix<T, 8, 8> (&right)[2][WIDE]) {
#pragma unroll
    for (uint j = 0; j < WIDE; j++)
#pragma unroll
        for (uint i = 0; i < TALL; i++)
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                simdgroup_multiply_accumulate(sum[i][j], left[h][i], right[h][j], sum[i][j]);
            }
}

template <typename T, uint A_LINE> struct block_tiles {
    simdgroup_matrix<T, 8, 8> left[2][BLOCK_TILES], right[2][BLOCK_TILES];

    void clear() thread {
#pragma unroll
        for (uint i = 0; i < BLOCK_TILES; i++)
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                left[h][i] = right[h][i] = simdgroup_matrix<T, 8, 8>(T(0));
            }
    }
    void load(threadgroup const T *a, threadgroup const T *b, uint k) thread {
        load_left<A_LINE, DEEP_LINE>(left, a, k);
        load_right<B_LINE, DEEP_LINE>(right, b, k);
    }
    void add(thread simdgroup_float8x8 (&sum)[BLOCK_TILES][BLOCK_TILES]) thread {
        add_tiles(sum, left, right);
    }
};

/* The products of one panel, but for its last step, which is left in tiles[1]: that of the panel
 * before comes first, and needs no memory when the barrier is passed. Meanwhile the next panel is
 * copied, if there is one. */
template <bool NEXT, uint ROWS, typename T, typename A, typename B>
inline void add_panel(thread simdgroup_float8x8 (&sum)[BLOCK_TILES][BLOCK_TILES],
                      thread block_tiles<T, ROWS + LANE_ELEMENTS> (&tiles)[2],
                      threadgroup const T *left, threadgroup const T *right, thread const A &a_copy,
                      threadgroup T *a_next, thread const B &b_copy, threadgroup T *b_next) {
#pragma unroll
    for (uint step = 0; step < BLOCK_STEPS; step++) {
        tiles[step % 2].load(left, right, step * BLOCK_STEP);
        if (NEXT && step < COPY_STEPS) {
            a_copy.part(a_next, step);
            b_copy.part(b_next, step);
        }
        tiles[(step + 1) % 2].add(sum);
    }
}

/* As put_part, where the rows of the result begin anywhere: element by element. */
template <typename T, uint TALL, uint WIDE, uint I, uint J>
inline void put_singly(thread simdgroup_float8x8 (&sum)[I][J], uint i0, uint j0,
                       threadgroup float *lines, uint row0, uint column0, ulong plane,
                       device const T *bias, device T *out, device uchar *parts,
                       constant matmul_args &args, uint lane) {
    constexpr uint LINE = (WIDE + 1) * TILE, ACROSS = WIDE * TILE;
#pragma unroll
    for (uint i = 0; i < TALL; i++)
#pragma unroll
        for (uint j = 0; j < WIDE; j++) {
            simdgroup_store(sum[i0 + i][j0 + j], lines + (i * LINE + j) * TILE, LINE);
        }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint e = lane; e < TALL * TILE * ACROSS; e += 32) {
        const uint row = row0 + e / ACROSS, column = column0 + e % ACROSS;
        if (row < args.m && column < args.n) {
            put(lines[e / ACROSS * LINE + e % ACROSS], plane, row, column, bias, out, parts, args);
        }
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
}

/* TALL by WIDE tiles of the sums of a SIMD-group, those from i0, j0 on, through `lines`, then in
 * pieces along the rows. row0, column0: where these are in the result. */
template <typename T, uint TALL, uint WIDE, uint I, uint J>
inline void put_part(thread simdgroup_float8x8 (&sum)[I][J], uint i0, uint j0,
                     threadgroup float *lines, uint row0, uint column0, uint part, uint matrix,
                     device const T *bias, device T *out, device uchar *parts,
                     constant matmul_args &args, uint lane) {
    constexpr uint LINE = (WIDE + 1) * TILE, ALONG = WIDE * TILE / LANE_ELEMENTS;
    const ulong plane = ulong(part) * args.batch + matrix;
    const uint column = column0 + lane % ALONG * LANE_ELEMENTS;
    out += matrix * args.out_batch;
    if (args.out_loose) {
        put_singly<T, TALL, WIDE>(sum, i0, j0, lines, row0, column0, plane, bias, out, parts, args,
                                  lane);
        return;
    }
    float4 add[2] = {};
    if (args.has_bias && column < args.n)
#pragma unroll
        for (uint e = 0; e < LANE_ELEMENTS; e++) {
            add[e / 4][e % 4] = float(args.bias_step ? bias[column + e] : bias[0]);
        }
#pragma unroll
    for (uint i = 0; i < TALL; i++)
#pragma unroll
        for (uint j = 0; j < WIDE; j++) {
            simdgroup_store(sum[i0 + i][j0 + j], lines + (i * LINE + j) * TILE, LINE);
        }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint r = lane / ALONG; r < TALL * TILE; r += 32 / ALONG) {
        const uint row = row0 + r;
        if (row >= args.m || column >= args.n) {
            continue;
        }
        threadgroup const float4 *from =
            (threadgroup const float4 *)(lines + r * LINE + lane % ALONG * LANE_ELEMENTS);
        float4 low = from[0], high = from[1];
        if (args.parts > 1) {
            device float4 *to =
                (device float4 *)((device float *)parts + (plane * args.m + row) * args.n + column);
            to[0] = low;
            to[1] = high;
            continue;
        }
        low += add[0];
        high += add[1];
        if (args.epilogue)
#pragma unroll
            for (uint e = 0; e < 4; e++) {
                low[e] = epilogue(low[e], args.epilogue);
                high[e] = epilogue(high[e], args.epilogue);
            }
        const uint4 words =
            uint4(as_type<uint>(vec<T, 2>(low.xy)), as_type<uint>(vec<T, 2>(low.zw)),
                  as_type<uint>(vec<T, 2>(high.xy)), as_type<uint>(vec<T, 2>(high.zw)));
        *(device uint4 *)(out + row * args.out_stride + column) = words;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
}

/* Which block a threadgroup makes: BLOCK_GROUP rows of them at a time, column by column, so that
 * those that run together share more of a and b. */
inline uint2 block_place(uint2 group, uint2 groups) {
    const uint number = group.y * groups.x + group.x, band = number / (BLOCK_GROUP * groups.x);
    const uint rows = min(groups.y - band * BLOCK_GROUP, BLOCK_GROUP);
    const uint within = number - band * BLOCK_GROUP * groups.x;
    return uint2(within / rows, band * BLOCK_GROUP + within % rows);
}

template <typename T, uint ROWS>
[[max_total_threads_per_threadgroup(ROWS)]]
kernel void
matmul_blocks(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
              device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
              device uchar *parts [[buffer(4)]], constant matmul_args &args [[buffer(5)]],
              threadgroup T *a_0 [[threadgroup(0)]], threadgroup T *a_1 [[threadgroup(1)]],
              threadgroup T *a_2 [[threadgroup(2)]], threadgroup T *b_0 [[threadgroup(3)]],
              threadgroup T *b_1 [[threadgroup(4)]], threadgroup T *b_2 [[threadgroup(5)]],
              uint3 group [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]],
              uint me [[thread_index_in_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]]) {
    const uint matrix = group.z % args.batch, part = group.z / args.batch;
    const uint2 block = block_place(group.xy, groups.xy);
    const uint row0 = block.y * ROWS, column0 = block.x * BLOCK;
    const uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    panel_copy<T, ROWS, ROWS> a_copy = {.deep = !block_a_transposed, .stride = args.a_stride};
    panel_copy<T, BLOCK, ROWS> b_copy = {.deep = block_b_transposed, .stride = args.b_stride};
    a_copy.begin(a + matrix * args.a_batch + (block_a_transposed ? first * args.a_stride : first),
                 row0, args.m, me);
    b_copy.begin(b + matrix * args.b_batch + (block_b_transposed ? first : first * args.b_stride),
                 column0, args.n, me);

    simdgroup_float8x8 sum[BLOCK_TILES][BLOCK_TILES];
#pragma unroll
    for (uint i = 0; i < BLOCK_TILES; i++)
#pragma unroll
        for (uint j = 0; j < BLOCK_TILES; j++) {
            sum[i][j] = simdgroup_float8x8(0.0f);
        }
    const uint row = simd / 2 * (TILE * BLOCK_TILES), column = simd % 2 * (TILE * BLOCK_TILES);
    const uint left = row * (block_a_transposed ? 1 : DEEP_LINE);
    const uint right = column * (block_b_transposed ? DEEP_LINE : 1);
    const uint rest = (end - first) % BLOCK_DEPTH, begun = rest ? rest : BLOCK_DEPTH;
    a_copy.some(a_0, begun);
    b_copy.some(b_0, begun);
    a_copy.next(begun);
    b_copy.next(begun);
    threadgroup_barrier(mem_flags::mem_threadgroup); // nobody waits for the first panel here
    if (first + begun < end) {
#pragma unroll
        for (uint step = 0; step < COPY_STEPS; step++) {
            a_copy.part(a_1, step);
            b_copy.part(b_1, step);
        }
        a_copy.next(BLOCK_DEPTH);
        b_copy.next(BLOCK_DEPTH);
    }
    block_tiles<T, ROWS + LANE_ELEMENTS> tiles[2];
    tiles[1].clear();
    threadgroup T *a_now = a_0, *a_next = a_1, *a_last = a_2;
    threadgroup T *b_now = b_0, *b_next = b_1, *b_last = b_2;
    uint k = first + begun + BLOCK_DEPTH; // where the panel that is copied begins
    for (; k < end; k += BLOCK_DEPTH) {
        // first, so that no compiler waits for copies before the products are under way
        threadgroup_barrier(mem_flags::mem_threadgroup);
        add_panel<true, ROWS>(sum, tiles, a_now + left, b_now + right, a_copy, a_last, b_copy,
                              b_last);
        a_copy.next(BLOCK_DEPTH);
        b_copy.next(BLOCK_DEPTH);
        threadgroup T *a_used = a_now, *b_used = b_now;
        a_now = a_next, a_next = a_last, a_last = a_used;
        b_now = b_next, b_next = b_last, b_last = b_used;
    }
    do {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        add_panel<false, ROWS>(sum, tiles, a_now + left, b_now + right, a_copy, a_last, b_copy,
                               b_last);
        a_now = a_next, b_now = b_next;
        k += BLOCK_DEPTH;
    } while (k < end + 2 * BLOCK_DEPTH);
    tiles[1].add(sum);
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint i = 0; i < BLOCK_TILES; i += BLOCK_TILES / 2) {
        put_part<T, BLOCK_TILES / 2, BLOCK_TILES>(
            sum, i, 0, (threadgroup float *)(simd % 2 ? a_1 : a_0) + simd / 2 * PUT_FLOATS,
            row0 + row + i * TILE, column0 + column, part, matrix, bias, out, parts, args, lane);
    }
}

#endif
