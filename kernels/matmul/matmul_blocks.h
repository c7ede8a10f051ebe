/*
 * Large products of half and bfloat on GPUs: a threadgroup of four or eight SIMD-groups makes 128
 * or 256 rows by 128 columns of the result, each 64 by 64 with all sums in registers. While a panel
 * is used, the next one is on its way into registers, in pieces of 16 bytes.
 *
 * Wants operands aligned to 16 bytes, k in whole panels, n in whole pieces, and a not transposed:
 * the host sees to that. Rows and columns past the end are the last ones again; what comes of them
 * is not stored.
 */
#ifndef INGOT_KERNELS_MATMUL_BLOCKS_H
#define INGOT_KERNELS_MATMUL_BLOCKS_H

constant bool block_turned [[function_constant(0)]]; /* b has n rows of k */

constexpr constant uint BLOCK = 128, BLOCK_DEPTH = 32;
constexpr constant uint DEEP_STRIDE = BLOCK_DEPTH + PIECE; /* of a panel with k along its lines */
constexpr constant uint WIDE_STRIDE = BLOCK + PIECE;       /* and with n */
constexpr constant uint BLOCK_TILES = 8;                   /* of a SIMD-group, in each direction */

/* Where piece number `piece` of a panel is, whose lines are along k or along n. Neighbouring
 * threads have neighbouring pieces: threads that have the same part of eight lines would store
 * without bank conflicts, but load slower than that saves. */
inline uint2 piece_place(uint piece, bool deep) {
    const uint along = (deep ? BLOCK_DEPTH : BLOCK) / PIECE;
    return uint2(piece % along * PIECE, piece / along);
}

template <uint THREADS, typename T, uint PIECES>
inline void load_pieces(thread uint4 (&pieces)[PIECES], device const T *matrix, ulong stride,
                        uint first, uint count, bool deep, uint me) {
#pragma unroll
    for (uint i = 0; i < PIECES; i++) {
        uint2 place = piece_place(me + i * THREADS, deep);
        ulong at = deep ? min(first + place.y, count - 1) * stride + place.x
                        : place.y * stride + min(first + place.x, count - PIECE);
        pieces[i] = *(device const uint4 *)(matrix + at);
    }
}

template <uint THREADS, typename T, uint PIECES>
inline void store_pieces(thread const uint4 (&pieces)[PIECES], threadgroup T *panel, bool deep,
                         uint me) {
#pragma unroll
    for (uint i = 0; i < PIECES; i++) {
        uint2 place = piece_place(me + i * THREADS, deep);
        *(threadgroup uint4 *)(panel + place.y * (deep ? DEEP_STRIDE : WIDE_STRIDE) + place.x) =
            pieces[i];
    }
}

/* Two tiles deep at a time, which is what the matrix units take. */
template <typename T>
inline void add_panels(thread simdgroup_float8x8 (&sum)[BLOCK_TILES][BLOCK_TILES],
                       threadgroup const T *a, threadgroup const T *b) {
#pragma unroll
    for (uint k = 0; k < BLOCK_DEPTH; k += 2 * TILE) {
        simdgroup_matrix<T, 8, 8> left[2][BLOCK_TILES], right[2];
#pragma unroll
        for (uint i = 0; i < BLOCK_TILES; i++)
#pragma unroll
            for (uint h = 0; h < 2; h++)
                simdgroup_load(left[h][i], a + i * TILE * DEEP_STRIDE + k + h * TILE, DEEP_STRIDE);
#pragma unroll
        for (uint j = 0; j < BLOCK_TILES; j++) {
#pragma unroll
            for (uint h = 0; h < 2; h++)
                if (block_turned)
                    simdgroup_load(right[h], b + j * TILE * DEEP_STRIDE + k + h * TILE, DEEP_STRIDE,
                                   ulong2(0), true);
                else
                    simdgroup_load(right[h], b + (k + h * TILE) * WIDE_STRIDE + j * TILE,
                                   WIDE_STRIDE);
#pragma unroll
            for (uint i = 0; i < BLOCK_TILES; i++)
#pragma unroll
                for (uint h = 0; h < 2; h++)
                    simdgroup_multiply_accumulate(sum[i][j], left[h][i], right[h], sum[i][j]);
        }
    }
}

template <typename T, uint ROWS>
[[max_total_threads_per_threadgroup(ROWS)]]
kernel void
matmul_blocks(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
              device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
              device uchar *parts [[buffer(4)]], constant matmul_args &args [[buffer(5)]],
              uint3 group [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]],
              uint simd [[simdgroup_index_in_threadgroup]],
              uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint THREADS = ROWS, A_PIECES = BLOCK_DEPTH / PIECE;
    constexpr uint B_PIECES = BLOCK * BLOCK_DEPTH / PIECE / THREADS;
    threadgroup uint4 memory[(ROWS + BLOCK) * DEEP_STRIDE / PIECE];
    threadgroup T *a_panel = (threadgroup T *)memory, *b_panel = a_panel + ROWS * DEEP_STRIDE;
    uint matrix = group.z % args.batch, part = group.z / args.batch;
    uint row0 = group.y * ROWS, column0 = group.x * BLOCK;
    uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    a += matrix * args.a_batch + first;
    b += matrix * args.b_batch + (block_turned ? first : first * args.b_stride);
    const ulong b_step = block_turned ? BLOCK_DEPTH : BLOCK_DEPTH * args.b_stride;

    simdgroup_float8x8 sum[BLOCK_TILES][BLOCK_TILES];
#pragma unroll
    for (uint i = 0; i < BLOCK_TILES; i++)
#pragma unroll
        for (uint j = 0; j < BLOCK_TILES; j++)
            sum[i][j] = simdgroup_float8x8(0.0f);
    uint4 a_next[A_PIECES], b_next[B_PIECES];
    load_pieces<THREADS>(a_next, a, args.a_stride, row0, args.m, true, me);
    load_pieces<THREADS>(b_next, b, args.b_stride, column0, args.n, block_turned, me);
    const uint row = simd / 2 * (TILE * BLOCK_TILES), column = simd % 2 * (TILE * BLOCK_TILES);
    threadgroup const T *left = a_panel + row * DEEP_STRIDE;
    threadgroup const T *right = b_panel + column * (block_turned ? DEEP_STRIDE : 1);
    for (uint k = first; k < end; k += BLOCK_DEPTH) {
        store_pieces<THREADS>(a_next, a_panel, true, me);
        store_pieces<THREADS>(b_next, b_panel, block_turned, me);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (k + BLOCK_DEPTH < end) {
            a += BLOCK_DEPTH;
            b += b_step;
            load_pieces<THREADS>(a_next, a, args.a_stride, row0, args.m, true, me);
            load_pieces<THREADS>(b_next, b, args.b_stride, column0, args.n, block_turned, me);
        }
        add_panels(sum, left, right);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    put_tiles<1>(sum, (threadgroup float *)memory + simd * (TILE * BLOCK_TILES * TILE), row0 + row,
                 column0 + column, part, matrix, bias, out, parts, args, lane);
}

#endif
