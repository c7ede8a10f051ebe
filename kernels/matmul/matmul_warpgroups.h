/*
 * The same as matmul_blocks.h for GPUs whose matrix units multiply for four SIMD-groups at once:
 * each SIMD-group makes TALL by WIDE tiles of the result, as wide as the threadgroup's
 * block, so that all multiply rows of their own by the same tiles of b. Panels have lines of 64
 * elements, which is what these units read: of k, or of m or n, then 64 lines after each other and
 * the next 64 behind them.
 *
 * Panels go to four places in turn: while one is used, the second next is copied, and the products
 * of the one before may still be under way.
 */
#ifndef INGOT_KERNELS_MATMUL_WARPGROUPS_H
#define INGOT_KERNELS_MATMUL_WARPGROUPS_H

#include "common/threadgroups.h"

constexpr constant uint WARPGROUP_LINE = BLOCK_DEPTH, LINE_PIECES = WARPGROUP_LINE / LANE_ELEMENTS;
constexpr constant uint DEPTH_TILES = BLOCK_DEPTH / TILE, LINE_TILES = WARPGROUP_LINE / TILE;

/* One thread's part of a panel of COUNT rows or columns, of a matrix whose lines are along k (deep)
 * or along m or n: a piece of every so many lines. Rows past the end are others again: not all the
 * last one, which all threadgroups would read at once, from one place of the cache. */
template <typename T, uint COUNT, uint THREADS> struct warpgroup_copy {
    static constexpr constant uint PIECES = COUNT * BLOCK_DEPTH / LANE_ELEMENTS / THREADS;
    static constexpr constant uint DEEP_LINES = THREADS / LINE_PIECES;
    static constexpr constant uint FLAT_LINES = THREADS / (COUNT / LANE_ELEMENTS);
    bool deep;
    ulong stride;
    device const T *from[PIECES]; /* of those that are not deep only the first */
    uint to, k;                   /* of the first piece: its place, and where it is along k */

    void begin(device const T *matrix, uint first, uint count, uint me) thread {
        if (deep) {
            const uint x = me % LINE_PIECES, y = me / LINE_PIECES;
            to = y * WARPGROUP_LINE + x * LANE_ELEMENTS;
            k = x * LANE_ELEMENTS;
#pragma unroll
            for (uint i = 0; i < PIECES; i++) {
                from[i] = matrix + (first + y + i * DEEP_LINES) % count * stride + k;
            }
        } else {
            const uint x = me % (COUNT / LANE_ELEMENTS), y = me / (COUNT / LANE_ELEMENTS);
            to = (x / LINE_PIECES * BLOCK_DEPTH + y) * WARPGROUP_LINE +
                 x % LINE_PIECES * LANE_ELEMENTS;
            k = y;
            from[0] = matrix + k * stride + (first + x * LANE_ELEMENTS) % whole_pieces(count);
        }
    }
    device const uint4 *piece(uint i) thread const {
        return (device const uint4 *)(deep ? from[i] : from[0] + i * FLAT_LINES * stride);
    }
    threadgroup uint4 *place(threadgroup T *panel, uint i) thread const {
        return (threadgroup uint4 *)(panel + to +
                                     i * (deep ? DEEP_LINES : FLAT_LINES) * WARPGROUP_LINE);
    }
    void all(threadgroup T *panel) thread const {
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            *place(panel, i) = *piece(i);
        }
    }
    /* A panel of which the matrix has only `depth` of k; the others are zeros. */
    void some(threadgroup T *panel, uint depth) thread const {
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            uint4 value = 0;
            if ((deep ? k : k + i * FLAT_LINES) < depth) {
                value = *piece(i);
            }
            *place(panel, i) = value;
        }
    }
    void next(uint depth) thread {
        const ulong far = deep ? depth : depth * stride;
#pragma unroll
        for (uint i = 0; i < (deep ? PIECES : 1); i++) {
            from[i] += far;
        }
    }
};

/* A tile of a panel, `along` and `k` in tiles: lines are along k, or not. */
template <typename T>
inline void load_tile(thread simdgroup_matrix<T, 8, 8> &tile, threadgroup const T *panel, bool deep,
                      uint along, uint k, bool transposed) {
    const uint place = deep ? along * TILE * WARPGROUP_LINE + k * TILE
                            : (along / LINE_TILES * BLOCK_DEPTH + k * TILE) * WARPGROUP_LINE +
                                  along % LINE_TILES * TILE;
    simdgroup_load(tile, panel + place, WARPGROUP_LINE, ulong2(0), transposed);
}

/* The products of tiles k and k + 1 of a panel's depth. */
template <typename T, uint TALL, uint WIDE>
inline void add_step(thread simdgroup_float8x8 (&sum)[TALL][WIDE], threadgroup const T *a,
                     threadgroup const T *b, uint k) {
    simdgroup_matrix<T, 8, 8> left[2][TALL], right[2];
#pragma unroll
    for (uint i = 0; i < TALL; i++)
#pragma unroll
        for (uint h = 0; h < 2; h++) {
            load_tile(left[h][i], a, !block_a_transposed, i, k + h, block_a_transposed);
        }
#pragma unroll
    for (uint j = 0; j < WIDE; j++) {
#pragma unroll
        for (uint h = 0; h < 2; h++) {
            load_tile(right[h], b, block_b_transposed, j, k + h, block_b_transposed);
        }
#pragma unroll
        for (uint i = 0; i < TALL; i++)
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                simdgroup_multiply_accumulate(sum[i][j], left[h][i], right[h], sum[i][j]);
            }
    }
}

/* The products of one panel. */
template <typename T, uint TALL, uint WIDE>
inline void add_warpgroup_products(thread simdgroup_float8x8 (&sum)[TALL][WIDE],
                                   threadgroup const T *a, threadgroup const T *b) {
    static_assert(DEPTH_TILES == 8, "the steps below, which no compiler would unroll");
    add_step<T, TALL, WIDE>(sum, a, b, 0);
    add_step<T, TALL, WIDE>(sum, a, b, 2);
    add_step<T, TALL, WIDE>(sum, a, b, 4);
    add_step<T, TALL, WIDE>(sum, a, b, 6);
}

template <typename T, uint TALL, uint WIDE, uint THREADS>
[[max_total_threads_per_threadgroup(THREADS)]]
kernel void
matmul_warpgroups(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
                  device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
                  device uchar *parts [[buffer(4)]], constant matmul_args &args [[buffer(5)]],
                  threadgroup T *a_0 [[threadgroup(0)]], threadgroup T *a_1 [[threadgroup(1)]],
                  threadgroup T *a_2 [[threadgroup(2)]], threadgroup T *a_3 [[threadgroup(3)]],
                  threadgroup T *b_0 [[threadgroup(4)]], threadgroup T *b_1 [[threadgroup(5)]],
                  threadgroup T *b_2 [[threadgroup(6)]], threadgroup T *b_3 [[threadgroup(7)]],
                  uint3 group [[threadgroup_position_in_grid]],
                  uint3 groups [[threadgroups_per_grid]], uint me [[thread_index_in_threadgroup]],
                  uint simd [[simdgroup_index_in_threadgroup]],
                  uint lane [[thread_index_in_simdgroup]]) {
    full_threadgroups();
    constexpr uint SIMDS = THREADS / 32, ROWS = SIMDS * TALL * TILE, COLUMNS = WIDE * TILE;
    const uint matrix = group.z % args.batch, part = group.z / args.batch;
    const uint2 block = block_place(group.xy, groups.xy);
    const uint row0 = block.y * ROWS, column0 = block.x * COLUMNS, row = simd * TALL * TILE;
    const uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    warpgroup_copy<T, ROWS, THREADS> a_copy = {.deep = !block_a_transposed,
                                               .stride = args.a_stride};
    warpgroup_copy<T, COLUMNS, THREADS> b_copy = {.deep = block_b_transposed,
                                                  .stride = args.b_stride};
    a_copy.begin(a + matrix * args.a_batch + (block_a_transposed ? first * args.a_stride : first),
                 row0, args.m, me);
    b_copy.begin(b + matrix * args.b_batch + (block_b_transposed ? first : first * args.b_stride),
                 column0, args.n, me);

    simdgroup_float8x8 sum[TALL][WIDE];
#pragma unroll
    for (uint i = 0; i < TALL; i++)
#pragma unroll
        for (uint j = 0; j < WIDE; j++) {
            sum[i][j] = simdgroup_float8x8(0.0f);
        }
    const uint left = block_a_transposed ? row / WARPGROUP_LINE * BLOCK_DEPTH * WARPGROUP_LINE +
                                               row % WARPGROUP_LINE
                                         : row * WARPGROUP_LINE;
    const uint rest = (end - first) % BLOCK_DEPTH, begun = rest ? rest : BLOCK_DEPTH;
    a_copy.some(a_0, begun);
    b_copy.some(b_0, begun);
    a_copy.next(begun);
    b_copy.next(begun);
    threadgroup_barrier(mem_flags::mem_threadgroup); // nobody waits for the first panel here
    if (first + begun < end) {
        a_copy.all(a_1);
        b_copy.all(b_1);
        a_copy.next(BLOCK_DEPTH);
        b_copy.next(BLOCK_DEPTH);
    }
    threadgroup T *a_now = a_0, *a_next = a_1, *a_last = a_2, *a_used = a_3;
    threadgroup T *b_now = b_0, *b_next = b_1, *b_last = b_2, *b_used = b_3;
    uint k = first + begun + BLOCK_DEPTH; // where the panel that is copied begins
    for (; k < end; k += BLOCK_DEPTH) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        add_warpgroup_products(sum, a_now + left, b_now);
        a_copy.all(a_last);
        b_copy.all(b_last);
        a_copy.next(BLOCK_DEPTH);
        b_copy.next(BLOCK_DEPTH);
        threadgroup T *const a_done = a_now, *const b_done = b_now;
        a_now = a_next, a_next = a_last, a_last = a_used, a_used = a_done;
        b_now = b_next, b_next = b_last, b_last = b_used, b_used = b_done;
    }
    do {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        add_warpgroup_products(sum, a_now + left, b_now);
        a_now = a_next, b_now = b_next;
        k += BLOCK_DEPTH;
    } while (k < end + 2 * BLOCK_DEPTH);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    constexpr uint PUT_TILES = 8; // at a time
    threadgroup T *const places[8] = {a_0, a_1, a_2, a_3, b_0, b_1, b_2, b_3};
    threadgroup float *lines = (threadgroup float *)a_0;
#pragma unroll
    for (uint i = 1; i < SIMDS; i++) {
        lines = simd == i ? (threadgroup float *)places[i] : lines;
    }
#pragma unroll
    for (uint j = 0; j < WIDE; j += PUT_TILES) {
        put_part<T, TALL, PUT_TILES>(sum, 0, j, lines, row0 + row, column0 + j * TILE, part, matrix,
                                     bias, out, parts, args, lane);
    }
}

#endif
