/*
 * The gradients of attention of float on GPUs, by multiply-adds, as attention_backward_blocks.h
 * has them: a threadgroup of 256 threads has 64 rows of its own and takes the others 64 at a time;
 * a thread makes 4 by 4 of the scores and changes, and 4 by DEPTH / 16 of each sum, in registers. A
 * row's 16 threads are neighbours in one SIMD-group. Weights and changes go to sums by way of
 * threadgroup memory. Copies take so little of the time that nothing hides them.
 */
#ifndef INGOT_KERNELS_ATTENTION_BACKWARD_FLOATS_H
#define INGOT_KERNELS_ATTENTION_BACKWARD_FLOATS_H

#include "common/float_products.h"

constant constexpr uint FLOATS_SIDE = GRADIENT_FLOATS_SIDE, FLOATS_ACROSS = 16;
constant constexpr uint FLOATS_EACH = FLOATS_SIDE / FLOATS_ACROSS;
constant constexpr uint FLOATS_THREADS = GRADIENT_FLOATS_THREADS;
constant constexpr uint FLOATS_WEIGHT_LINE = GRADIENT_FLOATS_WEIGHT_LINE;

/* Rows from `first` on, those past the end as the last one; what they have less than DEPTH is
 * zeros.
 */
template <uint DEPTH>
inline void stage_float_rows(threadgroup float *panel, device const float *rows, long stride,
                             uint first, uint end, uint depth, uint me) {
    constexpr uint ALONG = DEPTH / 4, STEP = FLOATS_THREADS / ALONG;
    constexpr uint LINE = DEPTH + GRADIENT_FLOATS_PAD;
    const uint d = me % ALONG * 4;
    threadgroup float *to = panel + me / ALONG * LINE + d;
    first += me / ALONG;
#pragma unroll
    for (uint i = 0; i < FLOATS_SIDE / STEP; i++) {
        float4 value = 0.0f;
        if (d < depth) {
            value = *(device const float4 *)(rows + min(first + i * STEP, end - 1) * stride + d);
        }
        *(threadgroup float4 *)(to + i * (STEP * LINE)) = value;
    }
}

/* A thread's part: own rows y + 16 i, others x + 16 j, elements 4 x + 64 h of the sums. */
template <uint DEPTH, bool BY_KEYS> struct gradient_thread {
    static constexpr constant uint LINE = DEPTH + GRADIENT_FLOATS_PAD, PIECES = DEPTH / 64;
    float4 first[FLOATS_EACH][PIECES], second[FLOATS_EACH][PIECES];
    float score[FLOATS_EACH][FLOATS_EACH], change[FLOATS_EACH][FLOATS_EACH];

    void begin() thread {
#pragma unroll
        for (uint i = 0; i < FLOATS_EACH; i++)
#pragma unroll
            for (uint h = 0; h < PIECES; h++) {
                first[i][h] = 0.0f;
                second[i][h] = 0.0f;
            }
    }

    /* From the thread's first line of each. */
    void multiply(thread float (&to)[FLOATS_EACH][FLOATS_EACH], threadgroup const float *own,
                  threadgroup const float *others) thread {
        multiply_floats<DEPTH, FLOATS_ACROSS * LINE>(to, own, others);
    }

    /* Scores times the factor, with the bias; -infinity where a query does not see a key. The
     * thread's first row of each side is `row` and `column`. */
    void hide(uint row, uint column, float factor, constant attention_args &args,
              device const uchar *mask, device const float *slopes, uint batch, uint head) thread {
        const float slope = attention_slope(args, slopes, batch, head);
#pragma unroll
        for (uint a = 0; a < FLOATS_EACH; a++)
#pragma unroll
            for (uint c = 0; c < FLOATS_EACH; c++) {
                const uint own = row + a * FLOATS_ACROSS, other = column + c * FLOATS_ACROSS;
                const uint i = min(BY_KEYS ? other : own, args.queries - 1);
                const uint j = BY_KEYS ? own : other, key = min(j, args.keys - 1);
                const int position = int(i + args.keys - args.queries);
                float s = score[a][c] * factor;
                if (args.flags & ATTENTION_BIASED) {
                    const long at = attention_at(args.mask_stride, batch, head, i);
                    s += attention_bias<float>(args, mask, at + key * args.mask_stride[3], slope, i,
                                               key);
                }
                const bool sees = int(j) >= position - args.left &&
                                  int(j) <= position + args.right && j < args.keys;
                score[a][c] = sees ? s : -INFINITY;
            }
    }

    /* Scores and changes become weights and changes of scores, at the thread's place. */
    void find_weights(float factor, thread const float2 (&stats)[FLOATS_EACH],
                      threadgroup float *weights, threadgroup float *changes) thread {
#pragma unroll
        for (uint i = 0; i < FLOATS_EACH; i++)
#pragma unroll
            for (uint j = 0; j < FLOATS_EACH; j++) {
                const float2 stat = stats[BY_KEYS ? j : i];
                const uint at = i * (FLOATS_ACROSS * FLOATS_WEIGHT_LINE) + j * FLOATS_ACROSS;
                const float weight = fast::exp2(fma(score[i][j], factor, -stat.x));
                if (BY_KEYS) {
                    weights[at] = weight;
                }
                changes[at] = weight * (change[i][j] - stat.y);
            }
    }

    void add(thread float4 (&sum)[FLOATS_EACH][PIECES], threadgroup const float *weights,
             threadgroup const float *others) thread {
        add_weighted<FLOATS_SIDE, 4, FLOATS_ACROSS * FLOATS_WEIGHT_LINE, LINE>(sum, weights,
                                                                               others);
    }

    void put(thread const float4 (&sum)[FLOATS_EACH][PIECES], float scale, device float *out,
             long stride, uint row, uint end, uint depth, uint x) thread {
#pragma unroll
        for (uint i = 0; i < FLOATS_EACH; i++)
#pragma unroll
            for (uint h = 0; h < PIECES; h++) {
                if (row + i * FLOATS_ACROSS < end && 4 * x + 64 * h < depth) {
                    *(device float4 *)(out + (row + i * FLOATS_ACROSS) * stride + 4 * x + 64 * h) =
                        sum[i][h] * scale;
                }
            }
    }
};

template <uint DEPTH, bool BY_KEYS>
inline void
find_float_gradient(uint batch, uint head, uint key_head, uint start, device const float *q,
                    device const float *k, device const float *v, device const float *dout,
                    device const float2 *stats, device const uchar *mask,
                    device const float *slopes, device float *first_out, device float *second_out,
                    constant attention_args &args, constant attention_backward_args &back,
                    threadgroup float *own, threadgroup float *others, threadgroup float *weights,
                    threadgroup float *changes, uint me) {
    constexpr uint LINE = DEPTH + GRADIENT_FLOATS_PAD, PANEL = FLOATS_SIDE * LINE;
    const uint x = me % FLOATS_ACROSS, y = me / FLOATS_ACROSS;
    const uint count = BY_KEYS ? args.keys : args.queries;
    const uint rows = BY_KEYS ? args.queries : args.keys, heads = BY_KEYS ? args.group : 1;
    const uint last = min(start + FLOATS_SIDE, count) - 1;
    const uint padded = (args.queries + GRADIENT_STATS - 1) / GRADIENT_STATS * GRADIENT_STATS;
    const float factor = args.scale * M_LOG2E_F;
    q += attention_at(args.q_stride, batch, head, 0);
    dout += attention_at(back.dout_stride, batch, head, 0);
    k += attention_at(args.k_stride, batch, key_head, 0);
    v += attention_at(args.v_stride, batch, key_head, 0);
    stats += (ulong(batch) * args.heads + head) * padded;
    gradient_blocks blocks;
    blocks.find(args, start, last, BY_KEYS, FLOATS_SIDE);

    stage_float_rows<DEPTH>(own, BY_KEYS ? k : q, BY_KEYS ? args.k_stride[2] : args.q_stride[2],
                            start, count, args.depth, me);
    stage_float_rows<DEPTH>(own + PANEL, BY_KEYS ? v : dout,
                            BY_KEYS ? args.v_stride[2] : back.dout_stride[2], start, count,
                            args.value_depth, me);
    gradient_thread<DEPTH, BY_KEYS> mine;
    float2 stat[FLOATS_EACH];
#pragma unroll
    for (uint i = 0; i < (BY_KEYS ? 0 : FLOATS_EACH); i++) {
        stat[i] = stats[min(start + y + i * FLOATS_ACROSS, args.queries - 1)];
    }
    mine.begin();
    gradient_step at = {blocks.count == blocks.inner ? 1u : 0u, 0, 0};
    for (uint n = 0; n < blocks.count * heads; n++) {
        const uint t = at.block(blocks) * FLOATS_SIDE;
        device const float *one = BY_KEYS ? q + at.head * args.q_stride[1] : k;
        device const float *two = BY_KEYS ? dout + at.head * back.dout_stride[1] : v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        stage_float_rows<DEPTH>(others, one, BY_KEYS ? args.q_stride[2] : args.k_stride[2], t, rows,
                                args.depth, me);
        stage_float_rows<DEPTH>(others + PANEL, two,
                                BY_KEYS ? back.dout_stride[2] : args.v_stride[2], t, rows,
                                args.value_depth, me);
#pragma unroll
        for (uint j = 0; j < (BY_KEYS ? FLOATS_EACH : 0); j++) {
            stat[j] = stats[ulong(at.head) * padded + t + x + j * FLOATS_ACROSS];
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        mine.multiply(mine.score, own + y * LINE, others + x * LINE);
        mine.multiply(mine.change, own + (PANEL + y * LINE), others + (PANEL + x * LINE));
        const bool hides = at.phase == 0;
        if (hides) {
            mine.hide(start + y, t + x, factor, args, mask, slopes, batch, head + at.head);
        }
        const uint place = y * FLOATS_WEIGHT_LINE;
        mine.find_weights(hides ? 1.0f : factor, stat, weights + place + x, changes + place + x);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        mine.add(mine.first, changes + place, others + 4 * x);
        if (BY_KEYS) {
            mine.add(mine.second, weights + place, others + (PANEL + 4 * x));
        }
        at.next(blocks, heads);
    }
    first_out += attention_at(BY_KEYS ? back.dk_stride : back.dq_stride, batch,
                              BY_KEYS ? key_head : head, 0);
    mine.put(mine.first, args.scale, first_out, BY_KEYS ? back.dk_stride[2] : back.dq_stride[2],
             start + y, count, args.depth, x);
    if (BY_KEYS) {
        second_out += attention_at(back.dv_stride, batch, key_head, 0);
        mine.put(mine.second, 1.0f, second_out, back.dv_stride[2], start + y, count,
                 args.value_depth, x);
    }
}

/* As attention_gradients. */
template <uint DEPTH>
[[max_total_threads_per_threadgroup(FLOATS_THREADS * (DEPTH > 64 ? 1 : 2))]] kernel void
attention_gradients_floats(
    device const float *q [[buffer(0)]], device const float *k [[buffer(1)]],
    device const float *v [[buffer(2)]], device const float *dout [[buffer(3)]],
    device const float2 *stats [[buffer(4)]], device const uchar *mask [[buffer(5)]],
    device const float *slopes [[buffer(6)]], device float *dq [[buffer(7)]],
    device float *dk [[buffer(8)]], device float *dv [[buffer(9)]],
    constant attention_args &args [[buffer(10)]],
    constant attention_backward_args &back [[buffer(11)]],
    threadgroup float *own [[threadgroup(0)]],    // two panels
    threadgroup float *others [[threadgroup(1)]], // two panels
    threadgroup float *weights [[threadgroup(2)]], threadgroup float *changes [[threadgroup(3)]],
    uint3 group [[threadgroup_position_in_grid]], uint me [[thread_index_in_threadgroup]]) {
    const uint of_queries = back.query_blocks * args.group;
    const uint head = group.y * args.group;
    if (group.x < of_queries) {
        // most causal keys first, as keys have most queries
        find_float_gradient<DEPTH, false>(
            group.z, head + group.x / back.query_blocks, group.y,
            (back.query_blocks - 1 - group.x % back.query_blocks) * FLOATS_SIDE, q, k, v, dout,
            stats, mask, slopes, dq, dq, args, back, own, others, weights, changes, me);
    } else {
        find_float_gradient<DEPTH, true>(
            group.z, head, group.y, (group.x - of_queries) * FLOATS_SIDE, q, k, v, dout, stats,
            mask, slopes, dk, dv, args, back, own, others, weights, changes, me);
    }
}

#endif
