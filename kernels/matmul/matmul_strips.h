/*
 * Products of half and bfloat with few rows on GPUs: a threadgroup of four SIMD-groups makes ROWS
 * by 64 of the result. Their time goes to reading b, so many threadgroups share a multiprocessor,
 * each with a part of k.
 *
 * matmul_strips takes aligned operands, whose panels are copied as in matmul_blocks.h.
 * matmul_loose takes operands that start anywhere, with rows any distance apart: a thread reads
 * the two aligned pieces of 16 bytes that its eight elements lie in, while the panel before is
 * multiplied, and takes the eight from their middle on the way to threadgroup memory.
 */
#ifndef INGOT_KERNELS_MATMUL_STRIPS_H
#define INGOT_KERNELS_MATMUL_STRIPS_H

#include "common/memory_hints.h"

constexpr constant uint STRIP_THREADS = MATMUL_STRIP_THREADS, STRIP_COLUMNS = MATMUL_STRIP_COLUMNS;

/* Which of a strip's tiles a SIMD-group makes. */
template <uint ROWS> struct strip_shape {
    static constexpr constant uint SIMDS_ACROSS = ROWS >= 64 ? 2 : 4;
    static constexpr constant uint TALL = ROWS / TILE / (4 / SIMDS_ACROSS);
    static constexpr constant uint WIDE = STRIP_COLUMNS / TILE / SIMDS_ACROSS;
};

/* A panel's lines: along k, or along rows or columns. */
template <uint COUNT> inline uint strip_line(bool deep) {
    return deep ? DEEP_LINE : COUNT + LANE_ELEMENTS;
}

/* The products of one panel. */
template <typename T, uint ROWS, uint COLUMNS, uint DEPTH, uint TALL, uint WIDE>
inline void add_strip(thread simdgroup_float8x8 (&sum)[TALL][WIDE], threadgroup const T *a,
                      threadgroup const T *b) {
    constexpr uint DEEP = DEPTH + LANE_ELEMENTS;
#pragma unroll
    for (uint k = 0; k < BLOCK_DEPTH; k += BLOCK_STEP) {
        simdgroup_matrix<T, 8, 8> left[2][TALL], right[2][WIDE];
        load_left<ROWS + LANE_ELEMENTS, DEEP>(left, a, k);
        load_right<COLUMNS + LANE_ELEMENTS, DEEP>(right, b, k);
        add_tiles(sum, left, right);
    }
}

/* The sums of a SIMD-group, a row of tiles at a time through `lines`, then along the rows of the
 * result as it lies in memory. */
template <typename T, uint TALL, uint WIDE>
inline void put_strip(thread simdgroup_float8x8 (&sum)[TALL][WIDE], threadgroup float *lines,
                      uint row0, uint column0, uint part, uint matrix, device const T *bias,
                      device T *out, device uchar *parts, constant matmul_args &args, uint lane) {
    constexpr uint LINE = (WIDE + 1) * TILE, ACROSS = WIDE * TILE;
    const ulong plane = ulong(part) * args.batch + matrix;
    const bool turned = args.out_transposed && args.parts == 1;
    out += matrix * args.out_batch;
#pragma unroll
    for (uint i = 0; i < TALL; i++) {
#pragma unroll
        for (uint j = 0; j < WIDE; j++) {
            simdgroup_store(sum[i][j], lines + j * TILE, LINE);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint e = lane; e < TILE * ACROSS; e += 32) {
            const uint r = turned ? e % TILE : e / ACROSS, c = turned ? e / TILE : e % ACROSS;
            const uint row = row0 + i * TILE + r, column = column0 + c;
            if (row < args.m && column < args.n) {
                put(lines[r * LINE + c], plane, row, column, bias, out, parts, args);
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }
}

/* As panel_copy of matmul_blocks.h, but rows past the end are zeros, which nobody reads: with few
 * rows all threadgroups would read the last one again and again, from one place of the cache. */
template <typename T, uint COUNT, uint DEPTH> struct strip_copy {
    static constexpr constant uint PIECES = COUNT * DEPTH / LANE_ELEMENTS / STRIP_THREADS;
    bool deep;
    device const T *from;
    ulong stride;
    uint lines, to, k, width; /* lines: of the matrix from this thread's first on, if deep */

    uint along() thread const {
        return (deep ? DEPTH : COUNT) / LANE_ELEMENTS;
    }
    uint step() thread const {
        return STRIP_THREADS / along();
    }
    void begin(device const T *matrix, uint first, uint count, uint me) thread {
        const uint x = me % along() * LANE_ELEMENTS, y = me / along();
        width = (deep ? DEPTH : COUNT) + LANE_ELEMENTS;
        to = y * width + x;
        k = deep ? x : y;
        lines = deep ? (first + y < count ? count - first - y : 0) : first + x < count ? DEPTH : 0;
        from = matrix + (deep ? (first + y) * stride + x : y * stride + first + x);
    }
    /* A panel of which the matrix has only `depth` of k; the others are zeros. */
    void some(threadgroup T *panel, uint depth) thread const {
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            uint4 piece = 0;
            if (i * step() < lines && (deep ? k : k + i * step()) < depth) {
                piece = *(device const uint4 *)(from + i * step() * stride);
            }
            *(threadgroup uint4 *)(panel + to + i * step() * width) = piece;
        }
    }
    void all(threadgroup T *panel) thread const {
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            uint4 piece = 0;
            if (i * step() < lines) {
                piece = *(device const uint4 *)(from + i * step() * stride);
            }
            *(threadgroup uint4 *)(panel + to + i * step() * width) = piece;
        }
    }
    void next(uint depth) thread {
        from += deep ? depth : depth * stride;
    }
};

/* SIMDS_DEEP SIMD-groups share the panel's depth, the others its rows. */
template <typename T, uint ROWS, uint COLUMNS, uint SIMDS_DEEP>
[[max_total_threads_per_threadgroup(STRIP_THREADS)]]
kernel void
matmul_strips(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
              device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
              device uchar *parts [[buffer(4)]], constant matmul_args &args [[buffer(5)]],
              threadgroup T *a_0 [[threadgroup(0)]], threadgroup T *a_1 [[threadgroup(1)]],
              threadgroup T *a_2 [[threadgroup(2)]], threadgroup T *b_0 [[threadgroup(3)]],
              threadgroup T *b_1 [[threadgroup(4)]], threadgroup T *b_2 [[threadgroup(5)]],
              uint3 group [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]],
              uint simd [[simdgroup_index_in_threadgroup]]) {
    constexpr uint SIMDS = STRIP_THREADS / 32, DEPTH = BLOCK_DEPTH * SIMDS_DEEP;
    constexpr uint TALL = ROWS * SIMDS_DEEP / SIMDS / TILE, WIDE = COLUMNS / TILE;
    const uint matrix = group.z % args.batch, part = group.z / args.batch;
    const uint row0 = group.y * ROWS, column0 = group.x * COLUMNS;
    const uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    strip_copy<T, ROWS, DEPTH> a_copy = {.deep = !block_a_transposed, .stride = args.a_stride};
    panel_copy<T, COLUMNS, STRIP_THREADS, DEPTH> b_copy = {.deep = block_b_transposed,
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
    const uint row = simd / SIMDS_DEEP * TALL * TILE, deep = simd % SIMDS_DEEP;
    const uint left = block_a_transposed ? deep * BLOCK_DEPTH * (ROWS + LANE_ELEMENTS) + row
                                         : row * (DEPTH + LANE_ELEMENTS) + deep * BLOCK_DEPTH;
    const uint right = deep * BLOCK_DEPTH * (block_b_transposed ? 1 : COLUMNS + LANE_ELEMENTS);
    const uint rest = (end - first) % DEPTH, begun = rest ? rest : DEPTH;
    a_copy.some(a_0, begun);
    b_copy.some(b_0, begun);
    a_copy.next(begun);
    b_copy.next(begun);
    threadgroup_barrier(mem_flags::mem_threadgroup); // nobody waits for the first panel here
    if (first + begun < end) {
        a_copy.all(a_1);
        b_copy.all(b_1);
        a_copy.next(DEPTH);
        b_copy.next(DEPTH);
    }
    threadgroup T *a_now = a_0, *a_next = a_1, *a_last = a_2;
    threadgroup T *b_now = b_0, *b_next = b_1, *b_last = b_2;
    uint k = first + begun + DEPTH; // where the panel that is copied begins
    for (; k < end; k += DEPTH) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        a_copy.all(a_last);
        b_copy.all(b_last);
        a_copy.next(DEPTH);
        b_copy.next(DEPTH);
        add_strip<T, ROWS, COLUMNS, DEPTH>(sum, a_now + left, b_now + right);
        threadgroup T *a_used = a_now, *b_used = b_now;
        a_now = a_next, a_next = a_last, a_last = a_used;
        b_now = b_next, b_next = b_last, b_last = b_used;
    }
    do {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        add_strip<T, ROWS, COLUMNS, DEPTH>(sum, a_now + left, b_now + right);
        a_now = a_next, b_now = b_next;
        k += DEPTH;
    } while (k < end + 2 * DEPTH);

    // the sums of all depths through threadgroup memory, then along the rows of the result
    constexpr uint LINE = COLUMNS + TILE, PLANE = ROWS * LINE;
    threadgroup float *const planes = (threadgroup float *)b_0;
    const ulong plane = ulong(part) * args.batch + matrix;
    const bool turned = args.out_transposed && args.parts == 1;
    out += matrix * args.out_batch;
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint i = 0; i < TALL; i++)
#pragma unroll
        for (uint j = 0; j < WIDE; j++) {
            simdgroup_store(sum[i][j], planes + deep * PLANE + (row + i * TILE) * LINE + j * TILE,
                            LINE);
        }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint e = me; e < ROWS * COLUMNS; e += STRIP_THREADS) {
        const uint r = turned ? e % ROWS : e / COLUMNS, c = turned ? e / ROWS : e % COLUMNS;
        float total = planes[r * LINE + c];
#pragma unroll
        for (uint d = 1; d < SIMDS_DEEP; d++) {
            total += planes[d * PLANE + r * LINE + c];
        }
        if (row0 + r < args.m && column0 + c < args.n) {
            put(total, plane, row0 + r, column0 + c, bias, out, parts, args);
        }
    }
}

/* ---- operands that lie anywhere ---- */
inline uint either(bool first, uint a, uint b) {
    return first ? a : b;
}

/* Eight elements of 16 bits from number `from` (below 8) on of sixteen. */
inline uint4 middle(uint4 low, uint4 high, uint from) {
    const bool four = from & 4, two = from & 2;
    const uint odd = from % 2 * 16;
    const uint v0 = either(four, low.z, low.x), v1 = either(four, low.w, low.y),
               v2 = either(four, high.x, low.z), v3 = either(four, high.y, low.w),
               v4 = either(four, high.z, high.x), v5 = either(four, high.w, high.y);
    const uint word[5] = {either(two, v1, v0), either(two, v2, v1), either(two, v3, v2),
                          either(two, v4, v3), either(two, v5, v4)};
    uint4 result;
#pragma unroll
    for (uint i = 0; i < 4; i++) {
        result[i] = uint((ulong(word[i + 1]) << 32 | word[i]) >> odd);
    }
    return result;
}

/* Of eight elements those before `count`, zeros after them. */
inline uint4 first_of(uint4 words, int count) {
#pragma unroll
    for (int i = 0; i < 4; i++) {
        words[i] &= count >= 2 * i + 2 ? ~0u : count > 2 * i ? 0xffffu : 0u;
    }
    return words;
}

/* As panel_copy of matmul_blocks.h, in two steps: from memory, and to the panel. `piece` counts
 * aligned pieces of the operand's memory, of which only those from args' first to end are all of
 * the operand's buffer. */
template <typename T, uint COUNT> struct loose_copy {
    static constexpr constant uint PIECES = COUNT * BLOCK_DEPTH / LANE_ELEMENTS / STRIP_THREADS;
    bool deep;
    device const T *matrix;
    ulong stride;
    matmul_pieces where;
    uint x, y, to, columns; /* columns: what lines have of the matrix from this thread's x on */
    uint piece[PIECES], from[PIECES];
    uint4 low[PIECES], high[PIECES];

    uint along() thread const {
        return (deep ? BLOCK_DEPTH : COUNT) / LANE_ELEMENTS;
    }
    uint lines() thread const {
        return STRIP_THREADS / along();
    }
    void begin(ulong at, uint first, uint count, uint me) thread {
        x = me % along() * LANE_ELEMENTS;
        y = me / along();
        to = y * strip_line<COUNT>(deep) + x;
        columns = deep || first + x >= count ? 0 : count - first - x;
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            const uint line = y + i * lines();
            const ulong element =
                at + where.shift +
                (deep ? min(first + line, count - 1) * stride + x : line * stride + first + x);
            piece[i] = uint(element / LANE_ELEMENTS);
            from[i] = element % LANE_ELEMENTS;
        }
    }
    void fetch() thread {
        device const uint4 *pieces = (device const uint4 *)(matrix - where.shift);
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            low[i] = pieces[clamp(piece[i], where.first, where.last)];
            high[i] = pieces[clamp(piece[i] + 1, where.first, where.last)];
        }
    }
    /* A panel of which the matrix has only `depth` of k; the others are zeros. */
    void store(threadgroup T *panel, uint depth) thread const {
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            const uint line = y + i * lines();
            const uint4 words = middle(low[i], high[i], from[i]);
            *(threadgroup uint4 *)(panel + to + i * lines() * strip_line<COUNT>(deep)) =
                first_of(words, deep           ? int(depth) - int(x)
                                : line < depth ? 8
                                               : 0);
        }
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            if (piece[i] < where.first || piece[i] + (from[i] != 0) > where.last) {
                store_single(panel + to + i * lines() * strip_line<COUNT>(deep), i, depth);
            }
        }
    }
    /* What has no aligned pieces of its own, at an end of the operand's memory. */
    void store_single(threadgroup T *place, uint i, uint depth) thread const {
        const ulong element = ulong(piece[i]) * LANE_ELEMENTS + from[i] - where.shift;
        const uint count =
            deep ? (x < depth ? depth - x : 0) : (y + i * lines() < depth ? columns : 0);
#pragma unroll 1
        for (uint e = 0; e < LANE_ELEMENTS; e++) {
            place[e] = e < count ? matrix[element + e] : T(0);
        }
    }
    void next() thread {
        const uint far =
            deep ? BLOCK_DEPTH / LANE_ELEMENTS : uint(BLOCK_DEPTH / LANE_ELEMENTS * stride);
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            piece[i] += far;
        }
    }
};

/* An operand that lies anywhere, laid out anew for kernels that take aligned ones: a thread makes a
 * piece of each of four lines. */
[[max_total_threads_per_threadgroup(256)]]
kernel void matmul_lay_out(device const ushort *from [[buffer(0)]], device uint4 *out [[buffer(1)]],
                           constant matmul_layout &args [[buffer(2)]],
                           uint3 position [[thread_position_in_grid]]) {
    constexpr uint LINES = 4;
    from += args.where.before;
    device const uint4 *pieces = (device const uint4 *)(from - args.where.shift);
    const uint x = position.x * LANE_ELEMENTS, line0 = position.y * LINES;
    if (position.x >= args.to_pieces) {
        return;
    }
    uint4 low[LINES], high[LINES];
    uint piece[LINES], shift[LINES];
#pragma unroll
    for (uint i = 0; i < LINES; i++) {
        const ulong element = position.z * args.batch + args.where.shift +
                              min(line0 + i, args.lines - 1) * args.stride + x;
        piece[i] = uint(element / LANE_ELEMENTS);
        shift[i] = element % LANE_ELEMENTS;
        low[i] = pieces[clamp(piece[i], args.where.first, args.where.last)];
        high[i] = pieces[clamp(piece[i] + 1, args.where.first, args.where.last)];
    }
#pragma unroll
    for (uint i = 0; i < LINES; i++) {
        if (line0 + i >= args.to_lines) {
            break;
        }
        const uint count = line0 + i < args.lines && x < args.along ? args.along - x : 0;
        uint4 words = middle(low[i], high[i], shift[i]);
        if (piece[i] < args.where.first || piece[i] + (shift[i] != 0) > args.where.last) {
            device const ushort *line =
                from + (ulong(piece[i]) * LANE_ELEMENTS + shift[i] - args.where.shift);
#pragma unroll
            for (uint e = 0; e < LANE_ELEMENTS; e++) {
                const uint element = e < count ? line[e] : 0;
                words[e / 2] = e % 2 ? (words[e / 2] & 0xffffu) | element << 16
                                     : (words[e / 2] & 0xffff0000u) | element;
            }
        }
        out[(ulong(position.z) * args.to_lines + line0 + i) * args.to_pieces + position.x] =
            first_of(words, int(min(count, LANE_ELEMENTS)));
    }
}

template <typename T, uint ROWS>
[[max_total_threads_per_threadgroup(STRIP_THREADS)]]
kernel void
matmul_loose(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]],
             device const T *bias [[buffer(2)]], device T *out [[buffer(3)]],
             device uchar *parts [[buffer(4)]], constant matmul_args &args [[buffer(5)]],
             threadgroup T *a_0 [[threadgroup(0)]], threadgroup T *a_1 [[threadgroup(1)]],
             threadgroup T *b_0 [[threadgroup(2)]], threadgroup T *b_1 [[threadgroup(3)]],
             uint3 group [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]],
             uint simd [[simdgroup_index_in_threadgroup]],
             uint lane [[thread_index_in_simdgroup]]) {
    threads_at_once(ROWS <= 16 ? 640 : ROWS <= 32 ? 512 : 384);
    constexpr uint TALL = strip_shape<ROWS>::TALL, WIDE = strip_shape<ROWS>::WIDE;
    constexpr uint SIMDS_ACROSS = strip_shape<ROWS>::SIMDS_ACROSS;
    const uint matrix = group.z % args.batch, part = group.z / args.batch;
    const uint row0 = group.y * ROWS, column0 = group.x * STRIP_COLUMNS;
    const uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    loose_copy<T, ROWS> a_copy = {.deep = !block_a_transposed,
                                  .matrix = a + args.a_pieces.before,
                                  .stride = args.a_stride,
                                  .where = args.a_pieces};
    loose_copy<T, STRIP_COLUMNS> b_copy = {.deep = block_b_transposed,
                                           .matrix = b + args.b_pieces.before,
                                           .stride = args.b_stride,
                                           .where = args.b_pieces};
    a_copy.begin(matrix * args.a_batch + (block_a_transposed ? first * args.a_stride : first), row0,
                 args.m, me);
    b_copy.begin(matrix * args.b_batch + (block_b_transposed ? first : first * args.b_stride),
                 column0, args.n, me);
    simdgroup_float8x8 sum[TALL][WIDE];
#pragma unroll
    for (uint i = 0; i < TALL; i++)
#pragma unroll
        for (uint j = 0; j < WIDE; j++) {
            sum[i][j] = simdgroup_float8x8(0.0f);
        }
    const uint row = simd / SIMDS_ACROSS * TALL * TILE, column = simd % SIMDS_ACROSS * WIDE * TILE;
    const uint left = row * (block_a_transposed ? 1 : DEEP_LINE);
    const uint right = column * (block_b_transposed ? DEEP_LINE : 1);
    threadgroup T *a_now = a_0, *a_next = a_1, *b_now = b_0, *b_next = b_1;
    a_copy.fetch();
    b_copy.fetch();
    for (uint k = first; k < end; k += BLOCK_DEPTH) {
        a_copy.store(a_now, end - k);
        b_copy.store(b_now, end - k);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (k + BLOCK_DEPTH < end) {
            a_copy.next();
            b_copy.next();
            a_copy.fetch();
            b_copy.fetch();
        }
        add_strip<T, ROWS, STRIP_COLUMNS, BLOCK_DEPTH>(sum, a_now + left, b_now + right);
        threadgroup T *const a_used = a_now, *const b_used = b_now;
        a_now = a_next, a_next = a_used;
        b_now = b_next, b_next = b_used;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    put_strip(sum, (threadgroup float *)b_0 + simd * TILE * (WIDE + 1) * TILE, row0 + row,
              column0 + column, part, matrix, bias, out, parts, args, lane);
}

#endif
