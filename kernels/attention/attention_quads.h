/*
 * The same as attention_blocks.h for GPUs whose matrix units multiply for four SIMD-groups at once:
 * each of eight SIMD-groups has 16 queries, and all multiply them by the same keys and values. Rows
 * are in threadgroup memory in lines of 64 elements, which is what these units read: the first 64
 * elements of all rows, then the next.
 *
 * Products are under way while something else is computed (Shah et al. 2024): values are
 * multiplied one block of keys later, behind the scores of that block, whose weights are found
 * meanwhile. So keys of a block lie beside the values of the block before it.
 */
#ifndef INGOT_KERNELS_ATTENTION_QUADS_H
#define INGOT_KERNELS_ATTENTION_QUADS_H

#include "common/threadgroups.h"

constant constexpr uint QUAD_KEYS = ATTENTION_QUAD_KEYS, QUAD_SIMDS = ATTENTION_QUAD_SIMDS;
constant constexpr uint QUAD_QUERIES = QUAD_SIMDS * 16, QUAD_THREADS = QUAD_SIMDS * 32;
constant constexpr uint QUAD_LINE = 64;

/* COUNT rows from `first` on, AT elements behind `lines`: distances of all that a thread copies are
 * constants. Rows past the end are the last one again. */
template <uint COUNT, uint AT, uint DEPTH, typename T>
inline void stage_lines(threadgroup T *lines, device const T *rows, long stride, uint first,
                        uint end, uint me) {
    constexpr uint ALONG = DEPTH / 8, STEP = QUAD_THREADS / ALONG;
    const uint x = me % ALONG * 8, y = me / ALONG;
    threadgroup T *to = lines + (x / QUAD_LINE * COUNT + y) * QUAD_LINE + x % QUAD_LINE;
    rows += x;
    if (first + COUNT <= end) {
        rows += (first + y) * stride;
#pragma unroll
        for (uint i = 0; i < COUNT / STEP; i++)
            *(threadgroup uint4 *)(to + (AT + i * STEP * QUAD_LINE)) =
                *(device const uint4 *)(rows + i * STEP * stride);
    } else {
#pragma unroll
        for (uint i = 0; i < COUNT / STEP; i++)
            *(threadgroup uint4 *)(to + (AT + i * STEP * QUAD_LINE)) =
                *(device const uint4 *)(rows + min(first + y + i * STEP, end - 1) * stride);
    }
}

/* Where element d of a row begins, of COUNT rows. */
template <uint COUNT> inline uint line_at(uint row, uint d) {
    return (d / QUAD_LINE * COUNT + row) * QUAD_LINE + d % QUAD_LINE;
}

template <typename T, uint DEPTH>
struct attention_quad : attention_block<T, DEPTH, 2, QUAD_KEYS / 8> {
    typedef attention_block<T, DEPTH, 2, QUAD_KEYS / 8> base;
    static constexpr constant uint KEY_TILES = QUAD_KEYS / 8;
    simdgroup_matrix<T, 8, 8> weight[KEY_TILES / 2][base::PARTS][2][2];

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
    void add_some(threadgroup const T *values, uint first) {
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
                        simdgroup_multiply_accumulate(base::sum[r][c], weight[first / 2][part][r][n],
                                                      value[n], base::sum[r][c]);
            }
    }

    void add_values(threadgroup const T *values) {
        static_assert(KEY_TILES == 8 || KEY_TILES == 12 || KEY_TILES == 16, "the steps below");
        add_some(values, 0);
        add_some(values, 2);
        add_some(values, 4);
        add_some(values, 6);
        if (KEY_TILES > 8) {
            add_some(values, 8);
            add_some(values, 10);
        }
        if (KEY_TILES > 12) {
            add_some(values, 12);
            add_some(values, 14);
        }
    }

    /* The reference follows the scores, which become powers of 2; sums follow only if they have to,
     * behind all that can be done while they are products' own. */
    void follow(float factor) {
        float old[2], zero[2], part[2];
        bool grown = false;
#pragma unroll
        for (uint r = 0; r < 2; r++) {
            float2 most = base::score[r][0].thread_elements();
#pragma unroll
            for (uint n = 1; n < KEY_TILES; n++)
                most = max(most, float2(base::score[r][n].thread_elements()));
            float top = tile_row_max(max(most.x, most.y)) * factor;
            old[r] = base::reference[r];
            bool more = top > old[r] + BLOCK_GROWTH;
            base::reference[r] = more ? top : old[r];
            grown = grown || more;
        }
#pragma unroll
        for (uint r = 0; r < 2; r++) {
            zero[r] = base::reference[r] == -INFINITY ? 0.0f : base::reference[r];
            float2 all = 0.0f;
#pragma unroll
            for (uint n = 0; n < KEY_TILES; n++) {
                float2 s = base::score[r][n].thread_elements();
                s = fast::exp2(fma(s, float2(factor), float2(-zero[r])));
                base::score[r][n].thread_elements() = s;
                all += s; // of the lane's own columns
            }
            part[r] = all.x + all.y;
        }
        if (grown) { // the lanes of a row agree
#pragma unroll
            for (uint r = 0; r < 2; r++) {
                float correction = fast::exp2(old[r] - zero[r]);
                base::total[r] *= correction;
#pragma unroll
                for (uint c = 0; c < base::TILES; c++)
                    base::sum[r][c].thread_elements() *= correction;
            }
        }
#pragma unroll
        for (uint r = 0; r < 2; r++)
            base::total[r] += part[r];
    }

    /* Powers of 2 become weights. */
    void round() {
#pragma unroll
        for (uint n = 0; n < KEY_TILES; n++)
#pragma unroll
            for (uint r = 0; r < 2; r++) {
                float2 left = base::score[r][n].thread_elements();
#pragma unroll
                for (uint part = 0; part < base::PARTS; part++) {
                    vec<T, 2> rounded = vec<T, 2>(left);
                    weight[n / 2][part][r][n % 2].thread_elements() = rounded;
                    left -= float2(rounded);
                }
            }
    }
};

/* What the SIMD-groups of a threadgroup share. */
template <typename T> struct attention_quad_rows {
    threadgroup T *now, *next; // keys of a block, then values of the one before
    threadgroup const T *own;
    device const T *k, *v;
    uint end; // of the keys that the threadgroup sees
    int position;
    float factor;
    uint me, lane;

    /* Values of a block, and keys of the next. */
    template <uint DEPTH> void stage(uint t, constant attention_args &args) {
        stage_lines<QUAD_KEYS, QUAD_KEYS * DEPTH, DEPTH>(next, v, args.v_stride[2], t, args.keys,
                                                         me);
        if (t + QUAD_KEYS < end)
            stage_lines<QUAD_KEYS, 0, DEPTH>(next, k, args.k_stride[2], t + QUAD_KEYS, args.keys,
                                             me);
    }

    void swap() {
        threadgroup T *used = now;
        now = next;
        next = used;
    }

    /* Blocks from t on, all but the first of which the queries see something. */
    template <bool HIDES, uint DEPTH>
    void run(thread attention_quad<T, DEPTH> &b, thread uint &t, uint stop,
             constant attention_args &args) {
        for (; t < stop; t += QUAD_KEYS) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            stage<DEPTH>(t, args);
            b.find_scores(own, now);
            b.add_values(now + QUAD_KEYS * DEPTH);
            if (HIDES)
                b.hide(position, int(t), lane, args);
            b.follow(factor);
            b.round();
            swap();
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
    const uint head = group.y, batch = group.z;
    const uint start = (groups.x - 1 - group.x) * QUAD_QUERIES; // most causal keys first
    const uint first = start + simd * 16;
    // what the threadgroup sees, and what all of its queries see, in whole blocks
    const uint last = min(start + QUAD_QUERIES, args.queries) - 1;
    const attention_range all = attention_seen(args, start, last);
    const attention_range inner = attention_seen(args, last, start);
    const uint begin = all.begin / QUAD_KEYS * QUAD_KEYS;
    const uint whole = (inner.begin + QUAD_KEYS - 1) / QUAD_KEYS * QUAD_KEYS;
    const uint partly = inner.end / QUAD_KEYS * QUAD_KEYS;
    attention_quad_rows<T> rows = {
        .now = even,
        .next = odd,
        .own = queries + simd * (16 * QUAD_LINE),
        .k = k + attention_at(args.k_stride, batch, head / args.group, 0),
        .v = v + attention_at(args.v_stride, batch, head / args.group, 0),
        .end = all.end,
        .position = int(first + tile_row(lane) + args.keys - args.queries),
        .factor = args.scale * M_LOG2E_F,
        .me = me,
        .lane = lane};
    attention_quad<T, DEPTH> b;
    b.begin();
    stage_lines<QUAD_QUERIES, 0, DEPTH>(queries, q + attention_at(args.q_stride, batch, head, 0),
                                        args.q_stride[2], start, args.queries, me);
    if (begin < all.end) {
        stage_lines<QUAD_KEYS, 0, DEPTH>(even, rows.k, args.k_stride[2], begin, args.keys, me);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        rows.template stage<DEPTH>(begin, args);
        b.find_scores(rows.own, rows.now);
        if (begin < inner.begin || begin + QUAD_KEYS > inner.end)
            b.hide(rows.position, int(begin), lane, args);
        b.follow(rows.factor);
        b.round();
        rows.swap();
        uint t = begin + QUAD_KEYS;
        rows.template run<true>(b, t, min(whole, all.end), args);
        rows.template run<false>(b, t, partly, args);
        rows.template run<true>(b, t, all.end, args);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        b.add_values(rows.now + QUAD_KEYS * DEPTH);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // copies are over before anything is stored
    b.finish(out, lse, args, batch, head, first, lane);
}

#endif
