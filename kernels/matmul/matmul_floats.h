/*
 * Products of float on GPUs, without matrix units: a threadgroup makes ROWS by COLUMNS of the
 * result, each thread TALL by WIDE of them: in fours, the first rows 4y to 4y + 3 and columns 4x to
 * 4x + 3. Panels have rows (or columns) of the result along their lines. They go to three places in
 * turn: while one is used, the second next is copied, element by element, so operands may lie
 * anywhere. Rows and columns past the end are the last ones again.
 */
#ifndef INGOT_KERNELS_MATMUL_FLOATS_H
#define INGOT_KERNELS_MATMUL_FLOATS_H

#include "common/memory_hints.h"

constexpr constant uint FLOATS_DEPTH = MATMUL_FLOAT_DEPTH;
constexpr constant uint COPY_DEPTH = 8; /* of k, that neighbouring threads copy of a deep matrix */

/* One thread's part of a panel: elements of every so many rows, of every eighth of k. */
template <uint COUNT, uint THREADS> struct float_copy {
    static constexpr constant uint LINE = COUNT + MATMUL_FLOAT_GAP;
    static constexpr constant uint ALONG = COUNT < 32 ? COUNT : 32; /* of rows, if not deep */
    static constexpr constant uint DEEP_ROWS = THREADS / COPY_DEPTH;
    static constexpr constant uint FLAT_DEPTH = THREADS / ALONG;
    bool deep;
    device const float *from;
    ulong stride;
    uint place[COUNT / DEEP_ROWS > COUNT / ALONG ? COUNT / DEEP_ROWS : COUNT / ALONG];
    uint to, k;

    void begin(device const float *matrix, uint first, uint count, uint me) thread {
        if (deep) {
            k = me % COPY_DEPTH;
            to = k * LINE + me / COPY_DEPTH;
            from = matrix + min(first, count - 1) * stride + k;
#pragma unroll
            for (uint i = 0; i < COUNT / DEEP_ROWS; i++) {
                place[i] = (min(first + me / COPY_DEPTH + i * DEEP_ROWS, count - 1) -
                            min(first, count - 1)) *
                           uint(stride);
            }
        } else {
            k = me / ALONG;
            to = k * LINE + me % ALONG;
            from = matrix + k * stride;
#pragma unroll
            for (uint i = 0; i < COUNT / ALONG; i++) {
                place[i] = min(first + me % ALONG + i * ALONG, count - 1);
            }
        }
    }
    template <bool PART>
    void copy_one(threadgroup float *panel, uint down, uint i, uint depth) thread const {
        device const float *source = from + (deep ? down : down * stride) + place[i];
        threadgroup float *target = panel + to + down * LINE + i * (deep ? DEEP_ROWS : ALONG);
        if (PART) {
            float value = 0;
            if (k + down < depth) {
                value = *source;
            }
            *target = value;
        } else {
            *target = *source;
        }
    }
    /* PART: a panel of which the matrix has only `depth` of k; the others are zeros. */
    template <bool PART> void copy(threadgroup float *panel, uint depth) thread const {
        if (deep) {
#pragma unroll
            for (uint h = 0; h < FLOATS_DEPTH / COPY_DEPTH; h++)
#pragma unroll
                for (uint i = 0; i < COUNT / DEEP_ROWS; i++) {
                    copy_one<PART>(panel, h * COPY_DEPTH, i, depth);
                }
        } else {
#pragma unroll
            for (uint h = 0; h < FLOATS_DEPTH / FLAT_DEPTH; h++)
#pragma unroll
                for (uint i = 0; i < COUNT / ALONG; i++) {
                    copy_one<PART>(panel, h * FLAT_DEPTH, i, depth);
                }
        }
    }
    void next(uint depth) thread {
        from += deep ? depth : depth * stride;
    }
};

/* The products of one panel; `left` and `right`: of this thread's first row and column. */
template <uint ROWS, uint COLUMNS, uint TALL, uint WIDE>
inline void add_floats(thread float (&sum)[TALL][WIDE], threadgroup const float *left,
                       threadgroup const float *right) {
    constexpr uint A_LINE = ROWS + MATMUL_FLOAT_GAP, B_LINE = COLUMNS + MATMUL_FLOAT_GAP;
#pragma unroll
    for (uint l = 0; l < FLOATS_DEPTH; l++) {
        float4 a[TALL / 4], b[WIDE / 4];
#pragma unroll
        for (uint h = 0; h < TALL / 4; h++) {
            a[h] = *(threadgroup const float4 *)(left + l * A_LINE + h * (ROWS * 4 / TALL));
        }
#pragma unroll
        for (uint h = 0; h < WIDE / 4; h++) {
            b[h] = *(threadgroup const float4 *)(right + l * B_LINE + h * (COLUMNS * 4 / WIDE));
        }
#pragma unroll
        for (uint i = 0; i < TALL; i++)
#pragma unroll
            for (uint j = 0; j < WIDE; j++) {
                sum[i][j] = fma(a[i / 4][i % 4], b[j / 4][j % 4], sum[i][j]);
            }
    }
}

template <uint ROWS, uint COLUMNS, uint TALL, uint WIDE, uint AT_ONCE>
[[max_total_threads_per_threadgroup(ROWS / TALL * COLUMNS / WIDE)]]
kernel void
matmul_floats(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
              device const float *bias [[buffer(2)]], device float *out [[buffer(3)]],
              device uchar *parts [[buffer(4)]], constant matmul_args &args [[buffer(5)]],
              threadgroup float *a_0 [[threadgroup(0)]], threadgroup float *a_1 [[threadgroup(1)]],
              threadgroup float *a_2 [[threadgroup(2)]], threadgroup float *b_0 [[threadgroup(3)]],
              threadgroup float *b_1 [[threadgroup(4)]], threadgroup float *b_2 [[threadgroup(5)]],
              uint3 group [[threadgroup_position_in_grid]],
              uint me [[thread_index_in_threadgroup]]) {
    threads_at_once(AT_ONCE);
    constexpr uint THREADS = ROWS / TALL * COLUMNS / WIDE, ACROSS = COLUMNS / WIDE;
    const uint matrix = group.z % args.batch, part = group.z / args.batch;
    const uint row0 = group.y * ROWS, column0 = group.x * COLUMNS;
    const uint first = part * args.part_depth, end = min(args.k, first + args.part_depth);
    const uint x = me % ACROSS, y = me / ACROSS;
    float_copy<ROWS, THREADS> a_copy = {.deep = !block_a_transposed, .stride = args.a_stride};
    float_copy<COLUMNS, THREADS> b_copy = {.deep = block_b_transposed, .stride = args.b_stride};
    a_copy.begin(a + matrix * args.a_batch + (block_a_transposed ? first * args.a_stride : first),
                 row0, args.m, me);
    b_copy.begin(b + matrix * args.b_batch + (block_b_transposed ? first : first * args.b_stride),
                 column0, args.n, me);
    float sum[TALL][WIDE] = {};
    const uint rest = (end - first) % FLOATS_DEPTH, begun = rest ? rest : FLOATS_DEPTH;
    a_copy.template copy<true>(a_0, begun);
    b_copy.template copy<true>(b_0, begun);
    a_copy.next(begun);
    b_copy.next(begun);
    threadgroup_barrier(mem_flags::mem_threadgroup); // nobody waits for the first panel here
    if (first + begun < end) {
        a_copy.template copy<false>(a_1, FLOATS_DEPTH);
        b_copy.template copy<false>(b_1, FLOATS_DEPTH);
        a_copy.next(FLOATS_DEPTH);
        b_copy.next(FLOATS_DEPTH);
    }
    threadgroup float *a_now = a_0, *a_next = a_1, *a_last = a_2;
    threadgroup float *b_now = b_0, *b_next = b_1, *b_last = b_2;
    uint k = first + begun + FLOATS_DEPTH; // where the panel that is copied begins
    for (; k < end; k += FLOATS_DEPTH) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        a_copy.template copy<false>(a_last, FLOATS_DEPTH);
        b_copy.template copy<false>(b_last, FLOATS_DEPTH);
        a_copy.next(FLOATS_DEPTH);
        b_copy.next(FLOATS_DEPTH);
        add_floats<ROWS, COLUMNS>(sum, a_now + 4 * y, b_now + 4 * x);
        threadgroup float *a_used = a_now, *b_used = b_now;
        a_now = a_next, a_next = a_last, a_last = a_used;
        b_now = b_next, b_next = b_last, b_last = b_used;
    }
    do {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        add_floats<ROWS, COLUMNS>(sum, a_now + 4 * y, b_now + 4 * x);
        a_now = a_next, b_now = b_next;
        k += FLOATS_DEPTH;
    } while (k < end + 2 * FLOATS_DEPTH);

    // one row of each thread at a time through threadgroup memory, then along them
    constexpr uint LINE = COLUMNS + MATMUL_FLOAT_GAP, LINES = ROWS / TALL;
    const ulong plane = ulong(part) * args.batch + matrix;
    out += matrix * args.out_batch;
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint i = 0; i < TALL; i++) {
        threadgroup float *const lines = i % 2 ? b_1 : b_0;
#pragma unroll
        for (uint h = 0; h < WIDE / 4; h++) {
            *(threadgroup float4 *)(lines + y * LINE + h * (COLUMNS * 4 / WIDE) + 4 * x) =
                float4(sum[i][4 * h], sum[i][4 * h + 1], sum[i][4 * h + 2], sum[i][4 * h + 3]);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint e = me; e < LINES * COLUMNS; e += THREADS) {
            const uint row = row0 + i / 4 * (ROWS * 4 / TALL) + e / COLUMNS * 4 + i % 4;
            const uint column = column0 + e % COLUMNS;
            if (row < args.m && column < args.n) {
                put(lines[e / COLUMNS * LINE + e % COLUMNS], plane, row, column, bias, out, parts,
                    args);
            }
        }
    }
}

#endif
