/*
 * The same as attention_blocks.h for GPUs whose matrix units multiply for four SIMD-groups at once:
 * each of eight SIMD-groups has 16 queries, and all multiply them by the same keys and values. Rows
 * are in threadgroup memory in lines of 64 elements, which is what these units read: the first 64
 * elements of all rows, then the next.
 */
#ifndef INGOT_KERNELS_ATTENTION_QUADS_H
#define INGOT_KERNELS_ATTENTION_QUADS_H

#include "common/threadgroups.h"

constant constexpr uint QUAD_KEYS = ATTENTION_QUAD_KEYS, QUAD_SIMDS = ATTENTION_QUAD_SIMDS;
constant constexpr uint QUAD_QUERIES = QUAD_SIMDS * 16, QUAD_THREADS = QUAD_SIMDS * 32;
constant constexpr uint QUAD_LINE = 64;

/* COUNT rows from `first` on. */
template <uint COUNT, uint DEPTH, typename T>
inline void stage_lines(threadgroup T *lines, device const T *rows, long stride, uint first,
                        uint end, uint me) {
    constexpr uint ALONG = DEPTH / 8, STEP = QUAD_THREADS / ALONG;
    const uint x = me % ALONG * 8, y = me / ALONG;
    threadgroup T *to = lines + (x / QUAD_LINE * COUNT + y) * QUAD_LINE + x % QUAD_LINE;
    rows += x;
    first += y;
#pragma unroll
    for (uint i = 0; i < COUNT / STEP; i++)
        *(threadgroup uint4 *)(to + i * STEP * QUAD_LINE) =
            *(device const uint4 *)(rows + min(first + i * STEP, end - 1) * stride);
}

/* Where element d of a row begins, of COUNT rows. */
template <uint COUNT> inline uint line_at(uint row, uint d) {
    return (d / QUAD_LINE * COUNT + row) * QUAD_LINE + d % QUAD_LINE;
}

template <typename T, uint DEPTH>
struct attention_quad : attention_block<T, DEPTH, 2, QUAD_KEYS / 8> {
    typedef attention_block<T, DEPTH, 2, QUAD_KEYS / 8> base;
    static constexpr constant uint KEY_TILES = QUAD_KEYS / 8;

    /* 16 elements of each row. */
    void add_scores(threadgroup const T *queries, threadgroup const T *keys, uint d) {
        simdgroup_matrix<T, 8, 8> query[2][2], key[2];
#pragma unroll
        for (uint r = 0; r < 2; r++)
#pragma unroll
            for (uint h = 0; h < 2; h++)
                simdgroup_load(query[h][r], queries + line_at<QUAD_QUERIES>(8 * r, d + 8 * h),
                               QUAD_LINE);
#pragma unroll
        for (uint n = 0; n < KEY_TILES; n++) {
#pragma unroll
            for (uint h = 0; h < 2; h++)
                simdgroup_load(key[h], keys + line_at<QUAD_KEYS>(8 * n, d + 8 * h), QUAD_LINE,
                               ulong2(0), true);
#pragma unroll
            for (uint r = 0; r < 2; r++)
#pragma unroll
                for (uint h = 0; h < 2; h++)
                    simdgroup_multiply_accumulate(base::score[r][n], query[h][r], key[h],
                                                  base::score[r][n]);
        }
    }

    void find_scores(threadgroup const T *queries, threadgroup const T *keys) {
#pragma unroll
        for (uint r = 0; r < 2; r++)
#pragma unroll
            for (uint n = 0; n < KEY_TILES; n++)
                base::score[r][n] = simdgroup_float8x8(0.0f);
        static_assert(DEPTH == 64 || DEPTH == 128,
                      "the steps below, which no compiler would unroll");
        add_scores(queries, keys, 0);
        add_scores(queries, keys, 16);
        add_scores(queries, keys, 32);
        add_scores(queries, keys, 48);
        if (DEPTH > 64) {
            add_scores(queries, keys, 64);
            add_scores(queries, keys, 80);
            add_scores(queries, keys, 96);
            add_scores(queries, keys, 112);
        }
    }

    /* Two tiles of keys. */
    void add_some(threadgroup const T *values, uint first, float factor) {
        simdgroup_matrix<T, 8, 8> weight[base::PARTS][2][2];
        base::find_weights(weight, first, factor);
#pragma unroll
        for (uint part = 0; part < base::PARTS; part++)
#pragma unroll
            for (uint c = 0; c < base::TILES; c++) {
                simdgroup_matrix<T, 8, 8> value[2];
#pragma unroll
                for (uint n = 0; n < 2; n++)
                    simdgroup_load(value[n], values + line_at<QUAD_KEYS>(8 * (first + n), 8 * c),
                                   QUAD_LINE);
#pragma unroll
                for (uint r = 0; r < 2; r++)
#pragma unroll
                    for (uint n = 0; n < 2; n++)
                        simdgroup_multiply_accumulate(base::sum[r][c], weight[part][r][n], value[n],
                                                      base::sum[r][c]);
            }
    }

    void add_values(threadgroup const T *values, float factor) {
        static_assert(KEY_TILES == 8 || KEY_TILES == 12 || KEY_TILES == 16, "the steps below");
        add_some(values, 0, factor);
        add_some(values, 2, factor);
        add_some(values, 4, factor);
        add_some(values, 6, factor);
        if (KEY_TILES > 8) {
            add_some(values, 8, factor);
            add_some(values, 10, factor);
        }
        if (KEY_TILES > 12) {
            add_some(values, 12, factor);
            add_some(values, 14, factor);
        }
    }
};

template <typename T, uint DEPTH>
[[max_total_threads_per_threadgroup(QUAD_THREADS)]]
kernel void attention_quads(
    device const T *q [[buffer(0)]], device const T *k [[buffer(1)]],
    device const T *v [[buffer(2)]], device T *out [[buffer(3)]], device float *lse [[buffer(4)]],
    device const uchar *mask [[buffer(5)]], device const float *slopes [[buffer(6)]],
    constant attention_args &args [[buffer(7)]], threadgroup T *queries [[threadgroup(0)]],
    threadgroup T *even [[threadgroup(1)]],
    threadgroup T *odd [[threadgroup(2)]], // keys, then values
    uint3 group [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]],
    uint me [[thread_index_in_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]],
    uint lane [[thread_index_in_simdgroup]]) {
    full_threadgroups();
    constexpr uint VALUES = QUAD_KEYS * DEPTH;
    threadgroup T *now = even, *next = odd;
    const uint head = group.y, batch = group.z;
    const uint start = (groups.x - 1 - group.x) * QUAD_QUERIES; // most causal keys first
    const uint first = start + simd * 16;
    k += attention_at(args.k_stride, batch, head / args.group, 0);
    v += attention_at(args.v_stride, batch, head / args.group, 0);
    const float factor = args.scale * M_LOG2E_F;
    // what the threadgroup sees, and what all queries of the SIMD-group see
    const uint end_of_all = min(start + QUAD_QUERIES, args.queries) - 1;
    const uint last = min(first + 16, args.queries) - 1;
    const attention_range all = attention_seen(args, start, end_of_all);
    const attention_range inner = attention_seen(args, last, min(first, last));
    const int position = int(first + tile_row(lane) + args.keys - args.queries);
    const uint begin = all.begin / QUAD_KEYS * QUAD_KEYS;
    stage_lines<QUAD_QUERIES, DEPTH>(queries, q + attention_at(args.q_stride, batch, head, 0),
                                     args.q_stride[2], start, args.queries, me);
    if (begin < all.end) {
        stage_lines<QUAD_KEYS, DEPTH>(now, k, args.k_stride[2], begin, args.keys, me);
        stage_lines<QUAD_KEYS, DEPTH>(now + VALUES, v, args.v_stride[2], begin, args.keys, me);
    }
    attention_quad<T, DEPTH> b;
    b.begin();
    threadgroup const T *own = queries + simd * (16 * QUAD_LINE);
    for (uint t = begin; t < all.end; t += QUAD_KEYS) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t + QUAD_KEYS < all.end) {
            stage_lines<QUAD_KEYS, DEPTH>(next, k, args.k_stride[2], t + QUAD_KEYS, args.keys, me);
            stage_lines<QUAD_KEYS, DEPTH>(next + VALUES, v, args.v_stride[2], t + QUAD_KEYS,
                                          args.keys, me);
        }
        b.find_scores(own, now);
        if (t < inner.begin || t + QUAD_KEYS > inner.end)
            b.hide(position, int(t), lane, args);
        b.follow_scores(factor);
        b.add_values(now + VALUES, factor);
        threadgroup T *used = now;
        now = next;
        next = used;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // copies are over before anything is stored
    b.finish(out, lse, args, batch, head, first, lane);
}

#endif
