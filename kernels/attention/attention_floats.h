/*
 * Attention of float on GPUs, by multiply-adds: a threadgroup of 256 threads has 128 queries and
 * takes 64 keys at a time; a thread makes 8 by 4 of the scores and 8 by DEPTH / 16 of the sums, all
 * in registers. A query's 16 threads are neighbours in one SIMD-group. Lines of queries, keys and
 * values are read in pieces of four. While scores are made, the values of the same keys are copied
 * to threadgroup memory; while those are added, the next keys.
 *
 * What it wants of its arguments: see attention_blocks.h; the host sees to the lengths of
 * threadgroup memory.
 */
#ifndef INGOT_KERNELS_ATTENTION_FLOATS_H
#define INGOT_KERNELS_ATTENTION_FLOATS_H

#include "attention/attention_sizes.h"
#include "common/float_products.h"

constant constexpr uint FLOATS_ACROSS = 16, FLOATS_ROWS = FLOATS_QUERIES / FLOATS_ACROSS;
constant constexpr uint FLOATS_KEYS_EACH = FLOATS_KEYS / FLOATS_ACROSS;

/* COUNT rows of `depth` elements from `first` on, those past the end as the last one; what is past
 * the rows' elements is 0. */
template <uint DEPTH, uint COUNT, uint LINE>
inline void stage_floats(threadgroup float *panel, device const float *rows, long stride,
                         uint first, uint end, uint depth, uint me) {
    constexpr uint ALONG = threads_along(2 * DEPTH), STEP = FLOATS_THREADS / ALONG;
    const uint x = me % ALONG * 4;
    threadgroup float *to = panel + me / ALONG * LINE + x;
    rows += x;
    first += me / ALONG;
    if (x < depth) {
#pragma unroll
        for (uint i = 0; i < COUNT / STEP; i++) {
            *(threadgroup float4 *)(to + i * (STEP * LINE)) =
                *(device const float4 *)(rows + min(first + i * STEP, end - 1) * stride);
        }
    } else if (x < DEPTH) {
#pragma unroll
        for (uint i = 0; i < COUNT / STEP; i++) {
            *(threadgroup float4 *)(to + i * (STEP * LINE)) = 0.0f;
        }
    }
}

/* Over the threads that have a query. */
inline float across_max(float x) {
#pragma unroll
    for (ushort step = 1; step < FLOATS_ACROSS; step *= 2) {
        x = max(x, simd_shuffle_xor(x, step));
    }
    return x;
}
inline float across_sum(float x) {
#pragma unroll
    for (ushort step = 1; step < FLOATS_ACROSS; step *= 2) {
        x += simd_shuffle_xor(x, step);
    }
    return x;
}

/* A thread's part: queries y + 16 i, keys x + 16 j, elements 4 x + 64 h of the sums. */
template <uint DEPTH> struct attention_thread {
    static constexpr constant uint LINE = DEPTH + FLOATS_PAD, PIECES = DEPTH / 64;
    float4 sum[FLOATS_ROWS][PIECES];
    float score[FLOATS_ROWS][FLOATS_KEYS_EACH];
    float largest[FLOATS_ROWS], total[FLOATS_ROWS];

    void begin() thread {
#pragma unroll
        for (uint i = 0; i < FLOATS_ROWS; i++) {
            largest[i] = -INFINITY;
            total[i] = 0.0f;
#pragma unroll
            for (uint h = 0; h < PIECES; h++) {
                sum[i][h] = 0.0f;
            }
        }
    }

    /* From the thread's first line of each. */
    void find_scores(threadgroup const float *queries, threadgroup const float *keys) thread {
        multiply_floats<DEPTH, FLOATS_ACROSS * LINE>(score, queries, keys);
    }

    /* Keys that a query does not see. The thread's first query is at `position`. */
    void hide(int position, int key, constant attention_args &args) thread {
#pragma unroll
        for (uint i = 0; i < FLOATS_ROWS; i++) {
            const int at = position + int(i * FLOATS_ACROSS);
            const int lowest = at - args.left, highest = min(at + args.right, int(args.keys) - 1);
#pragma unroll
            for (uint j = 0; j < FLOATS_KEYS_EACH; j++) {
                const int t = key + int(j * FLOATS_ACROSS);
                score[i][j] = t >= lowest && t <= highest ? score[i][j] : -INFINITY;
            }
        }
    }

    /* Scores become weights, which go to the thread's place in `weights`. */
    void find_weights(float factor, threadgroup float *weights) thread {
#pragma unroll
        for (uint i = 0; i < FLOATS_ROWS; i++) {
            float top = score[i][0];
#pragma unroll
            for (uint j = 1; j < FLOATS_KEYS_EACH; j++) {
                top = max(top, score[i][j]);
            }
            top = max(largest[i], across_max(top) * factor);
            const float base = top == -INFINITY ? 0.0f : top;
            const float correction = fast::exp2(largest[i] - base);
            largest[i] = top;
            float part = 0.0f;
#pragma unroll
            for (uint j = 0; j < FLOATS_KEYS_EACH; j++) {
                const float weight = fast::exp2(fma(score[i][j], factor, -base));
                weights[i * (FLOATS_ACROSS * FLOATS_WEIGHT_LINE) + j * FLOATS_ACROSS] = weight;
                part += weight;
            }
            total[i] = total[i] * correction + part; // of the thread's own keys
#pragma unroll
            for (uint h = 0; h < PIECES; h++) {
                sum[i][h] *= correction;
            }
        }
    }

    void add_values(threadgroup const float *weights, threadgroup const float *values) thread {
        add_weighted<FLOATS_KEYS, 8, FLOATS_ACROSS * FLOATS_WEIGHT_LINE, DEPTH>(sum, weights,
                                                                                values);
    }

    void finish(device float *out, device float *lse, constant attention_args &args, uint batch,
                uint head, uint first, uint x) thread {
#pragma unroll
        for (uint i = 0; i < FLOATS_ROWS; i++) {
            const float all = across_sum(total[i]), inverse = all == 0.0f ? 0.0f : 1.0f / all;
            const uint row = first + i * FLOATS_ACROSS;
            if (row >= args.queries) {
                continue;
            }
            if ((args.flags & ATTENTION_LSE) && x == 0) {
                lse[attention_row(args, batch, head, row)] =
                    all == 0.0f ? -INFINITY : (largest[i] + log2(all)) * M_LN2_F;
            }
            device float *to = out + attention_at(args.out_stride, batch, head, row) + 4 * x;
#pragma unroll
            for (uint h = 0; h < PIECES; h++) {
                if (4 * x + 64 * h < args.value_depth) {
                    *(device float4 *)(to + 64 * h) = sum[i][h] * inverse;
                }
            }
        }
    }
};

template <uint DEPTH>
[[max_total_threads_per_threadgroup(FLOATS_THREADS)]]
kernel void attention_floats(
    device const float *q [[buffer(0)]], device const float *k [[buffer(1)]],
    device const float *v [[buffer(2)]], device float *out [[buffer(3)]],
    device float *lse [[buffer(4)]], device const uchar *mask [[buffer(5)]],
    device const float *slopes [[buffer(6)]], constant attention_args &args [[buffer(7)]],
    threadgroup float *queries [[threadgroup(0)]], threadgroup float *keys [[threadgroup(1)]],
    threadgroup float *values [[threadgroup(2)]], threadgroup float *weights [[threadgroup(3)]],
    uint3 group [[threadgroup_position_in_grid]], uint3 groups [[threadgroups_per_grid]],
    uint me [[thread_index_in_threadgroup]]) {
    constexpr uint LINE = DEPTH + FLOATS_PAD;
    const uint x = me % FLOATS_ACROSS, y = me / FLOATS_ACROSS;
    const uint head = group.y, batch = group.z;
    const uint first = (groups.x - 1 - group.x) * FLOATS_QUERIES; // most causal keys first
    const uint last = min(first + FLOATS_QUERIES, args.queries) - 1;
    const attention_range seen = attention_seen(args, first, last);
    const attention_range inner = attention_seen(args, last, first); // by all queries
    const int position = int(first + y + args.keys - args.queries);
    const float factor = args.scale * M_LOG2E_F;
    const uint begin = seen.begin / FLOATS_KEYS * FLOATS_KEYS;
    k += attention_at(args.k_stride, batch, head / args.group, 0);
    v += attention_at(args.v_stride, batch, head / args.group, 0);

    attention_thread<DEPTH> mine;
    mine.begin();
    stage_floats<DEPTH, FLOATS_QUERIES, LINE>(
        queries, q + attention_at(args.q_stride, batch, head, 0), args.q_stride[2], first,
        args.queries, args.depth, me);
    if (begin < seen.end) {
        stage_floats<DEPTH, FLOATS_KEYS, LINE>(keys, k, args.k_stride[2], begin, args.keys,
                                               args.depth, me);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint t = begin; t < seen.end; t += FLOATS_KEYS) {
        stage_floats<DEPTH, FLOATS_KEYS, DEPTH>(values, v, args.v_stride[2], t, args.keys,
                                                args.value_depth, me);
        mine.find_scores(queries + y * LINE, keys + x * LINE);
        if (t < inner.begin || t + FLOATS_KEYS > inner.end) {
            mine.hide(position, int(t + x), args);
        }
        mine.find_weights(factor, weights + y * FLOATS_WEIGHT_LINE + x);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t + FLOATS_KEYS < seen.end) {
            stage_floats<DEPTH, FLOATS_KEYS, LINE>(keys, k, args.k_stride[2], t + FLOATS_KEYS,
                                                   args.keys, args.depth, me);
        }
        mine.add_values(weights + y * FLOATS_WEIGHT_LINE, values + 4 * x);
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    mine.finish(out, lse, args, batch, head, first + y, x);
}

#endif
