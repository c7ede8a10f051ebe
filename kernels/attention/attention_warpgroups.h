/*
 * The same as attention_blocks.h for GPUs whose matrix units multiply for four SIMD-groups at once:
 * each of eight or twelve SIMD-groups has 16 queries, and all multiply them by the same keys and
 * values. Rows are in threadgroup memory in lines of 64 elements, which is what these units read:
 * the first 64 elements of all rows, then the next.
 *
 * Products are under way while something else is computed (Shah et al. 2024). Values are
 * multiplied one block of keys later, behind the scores of that block, whose weights are found
 * meanwhile; so keys of a block lie beside the values of the block before it. The last four
 * SIMD-groups copy keys and values before they multiply, and so are behind the others, whose
 * weights are found while they multiply.
 */
#ifndef INGOT_KERNELS_ATTENTION_WARPGROUPS_H
#define INGOT_KERNELS_ATTENTION_WARPGROUPS_H

#include "common/threadgroups.h"

constant constexpr uint WARPGROUP_LINE = ATTENTION_WARPGROUP_LINE;
constant constexpr uint WARPGROUP_ALONG = WARPGROUP_LINE / 8; // threads that copy a line together
constant constexpr uint WARPGROUP_COPIERS = 128; // threads that copy keys and values: the last

/* COUNT rows, of which the thread's first is at `from` and the last that there is `left` rows on;
 * `inside` elements are left of its rows. What is past either is 0. They go to lines AT elements
 * behind the thread's place: distances of all that a thread copies are constants. */
template <uint COUNT, uint AT, uint DEPTH, uint THREADS, typename T>
inline void stage_lines(threadgroup T *to, device const T *from, long stride, bool whole, int left,
                        int inside) {
    constexpr uint STEP = THREADS / WARPGROUP_ALONG;
    if (whole) {
#pragma unroll
        for (uint i = 0; i < COUNT; i += STEP)
#pragma unroll
            for (uint d = 0; d < DEPTH; d += WARPGROUP_LINE) {
                *(threadgroup uint4 *)(to + (AT + d * COUNT + i * WARPGROUP_LINE)) =
                    *(device const uint4 *)(from + i * stride + d);
            }
    } else {
#pragma unroll
        for (uint i = 0; i < COUNT; i += STEP)
#pragma unroll
            for (uint d = 0; d < DEPTH; d += WARPGROUP_LINE) {
                uint4 piece = 0;
                if (int(i) <= left && int(d) < inside) {
                    piece = *(device const uint4 *)(from + i * stride + d);
                }
                *(threadgroup uint4 *)(to + (AT + d * COUNT + i * WARPGROUP_LINE)) = piece;
            }
    }
}

/* Where element d of a row begins, of COUNT rows. */
template <uint COUNT> inline uint line_at(uint row, uint d) {
    return (d / WARPGROUP_LINE * COUNT + row) * WARPGROUP_LINE + d % WARPGROUP_LINE;
}

template <typename T, uint DEPTH, uint SIMDS>
struct attention_warpgroup : attention_block<T, DEPTH, 2, ATTENTION_WARPGROUP_KEYS(DEPTH) / 8> {
    static constexpr constant uint KEYS = ATTENTION_WARPGROUP_KEYS(DEPTH), KEY_TILES = KEYS / 8;
    static constexpr constant uint QUERIES = 16 * SIMDS;
    typedef attention_block<T, DEPTH, 2, KEY_TILES> base;
    simdgroup_matrix<T, 8, 8> weight[KEY_TILES / 2][2][2];

    /* 16 elements of each row. */
    void add_scores(threadgroup const T *queries, threadgroup const T *keys, uint d) {
        simdgroup_matrix<T, 8, 8> query[2][2], key[2];
#pragma unroll
        for (uint r = 0; r < 2; r++)
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                simdgroup_load(query[h][r], queries + line_at<QUERIES>(8 * r, d + 8 * h),
                               WARPGROUP_LINE);
            }
#pragma unroll
        for (uint n = 0; n < KEY_TILES; n++) {
#pragma unroll
            for (uint h = 0; h < 2; h++) {
                simdgroup_load(key[h], keys + line_at<KEYS>(8 * n, d + 8 * h), WARPGROUP_LINE,
                               ulong2(0), true);
            }
#pragma unroll
            for (uint r = 0; r < 2; r++)
#pragma unroll
                for (uint h = 0; h < 2; h++) {
                    simdgroup_multiply_accumulate(base::score[r][n], query[h][r], key[h],
                                                  base::score[r][n]);
                }
        }
    }

    void find_scores(threadgroup const T *queries, threadgroup const T *keys) {
#pragma unroll
        for (uint r = 0; r < 2; r++)
#pragma unroll
            for (uint n = 0; n < KEY_TILES; n++) {
                base::score[r][n] = simdgroup_float8x8(0.0f);
            }
        static_assert(DEPTH % 32 == 0 && DEPTH <= 256,
                      "the steps below, which no compiler would unroll");
        add_scores(queries, keys, 0);
        add_scores(queries, keys, 16);
        if (DEPTH > 32) {
            add_scores(queries, keys, 32);
            add_scores(queries, keys, 48);
        }
        if (DEPTH > 64) {
            add_scores(queries, keys, 64);
            add_scores(queries, keys, 80);
        }
        if (DEPTH > 96) {
            add_scores(queries, keys, 96);
            add_scores(queries, keys, 112);
        }
        if (DEPTH > 128) {
            add_scores(queries, keys, 128);
            add_scores(queries, keys, 144);
        }
        if (DEPTH > 160) {
            add_scores(queries, keys, 160);
            add_scores(queries, keys, 176);
        }
        if (DEPTH > 192) {
            add_scores(queries, keys, 192);
            add_scores(queries, keys, 208);
        }
        if (DEPTH > 224) {
            add_scores(queries, keys, 224);
            add_scores(queries, keys, 240);
        }
    }

    /* Two tiles of keys. */
    void add_some(threadgroup const T *values, uint first) {
#pragma unroll
        for (uint c = 0; c < base::TILES; c++) {
            simdgroup_matrix<T, 8, 8> value[2];
#pragma unroll
            for (uint n = 0; n < 2; n++) {
                simdgroup_load(value[n], values + line_at<KEYS>(8 * (first + n), 8 * c),
                               WARPGROUP_LINE);
            }
#pragma unroll
            for (uint r = 0; r < 2; r++)
#pragma unroll
                for (uint n = 0; n < 2; n++) {
                    simdgroup_multiply_accumulate(base::sum[r][c], weight[first / 2][r][n],
                                                  value[n], base::sum[r][c]);
                }
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

    /* Keys from t on that a query does not see. The lane's row of tile 0 is at `position`. What is
     * compared are distances to the lane's first column, with constants: a third fewer instructions
     * than in attention_block, which has fewer registers to keep them in. */
    void hide(int position, int t, uint lane, constant attention_args &args) {
        const int column = t + int(tile_column(lane));
#pragma unroll
        for (uint r = 0; r < 2; r++) {
            const int at = position + int(8 * r), lowest = at - args.left - column;
            const int highest = min(at + args.right, int(args.keys) - 1) - column;
#pragma unroll
            for (uint n = 0; n < KEY_TILES; n++) {
                float2 s = base::score[r][n].thread_elements();
                const int j = int(8 * n);
                s.x = lowest <= j && j <= highest ? s.x : -INFINITY;
                s.y = lowest <= j + 1 && j + 1 <= highest ? s.y : -INFINITY;
                base::score[r][n].thread_elements() = s;
            }
        }
    }

    /* The largest score of a row, times the factor. */
    float top(uint r, float factor) {
        float2 most[2] = {base::score[r][0].thread_elements(), base::score[r][1].thread_elements()};
#pragma unroll
        for (uint n = 2; n < KEY_TILES; n++) {
            most[n % 2] = max(most[n % 2], float2(base::score[r][n].thread_elements()));
        }
        most[0] = max(most[0], most[1]);
        return tile_row_max(max(most[0].x, most[0].y)) * factor;
    }

    /* The reference follows the scores, which become powers of 2. Sums follow only if they have to,
     * when all is done that can be while they are the products' own. */
    void follow(float factor) {
        float old[2], zero[2], part[2];
        bool grown = false;
#pragma unroll
        for (uint r = 0; r < 2; r++) {
            const float now = top(r, factor);
            old[r] = base::reference[r];
            const bool more = now > old[r] + (BLOCK_GROWTH + base::SHIFT);
            base::reference[r] = more ? now - base::SHIFT : old[r];
            zero[r] = base::reference[r] == -INFINITY ? 0.0f : base::reference[r];
            grown = grown || more;
        }
#pragma unroll
        for (uint r = 0; r < 2; r++) {
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
                const float correction = fast::exp2(old[r] - zero[r]);
                base::total[r] *= correction;
#pragma unroll
                for (uint c = 0; c < base::TILES; c++) {
                    base::sum[r][c].thread_elements() *= correction;
                }
            }
        }
#pragma unroll
        for (uint r = 0; r < 2; r++) {
            base::total[r] += part[r];
        }
    }

    /* Powers of 2 become weights. */
    void round() {
#pragma unroll
        for (uint n = 0; n < KEY_TILES; n++)
#pragma unroll
            for (uint r = 0; r < 2; r++) {
                weight[n / 2][r][n % 2].thread_elements() =
                    vec<T, 2>(float2(base::score[r][n].thread_elements()));
            }
    }

    /* The results of a SIMD-group's rows from `first` on, by way of its queries' place. */
    void finish(threadgroup T *own, device T *out, device float *lse, constant attention_args &args,
                uint batch, uint head, uint first, uint lane) {
#pragma unroll
        for (uint r = 0; r < 2; r++) {
            const float all = tile_row_sum(base::total[r]),
                        inverse = all == 0.0f ? 0.0f : 1.0f / all;
            const uint row = 8 * r + tile_row(lane);
            if ((args.flags & ATTENTION_LSE) && tile_column(lane) == 0 &&
                first + row < args.queries) {
                lse[attention_row(args, batch, head, first + row)] =
                    all == 0.0f ? -INFINITY : (base::reference[r] + log2(all)) * M_LN2_F;
            }
#pragma unroll
            for (uint c = 0; c < base::TILES; c++) {
                *(threadgroup vec<T, 2> *)(own + line_at<QUERIES>(row, 8 * c) + tile_column(lane)) =
                    vec<T, 2>(base::sum[r][c].thread_elements() * inverse);
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        constexpr uint ALONG = DEPTH / 8;
        out += attention_at(args.out_stride, batch, head, first);
#pragma unroll
        for (uint i = 0; i < 16 * ALONG; i += 32) {
            const uint x = (i + lane) % ALONG * 8, y = (i + lane) / ALONG;
            if (first + y < args.queries && x < args.value_depth) {
                *(device uint4 *)(out + (y * args.out_stride[2] + x)) =
                    *(threadgroup uint4 *)(own + line_at<QUERIES>(y, x));
            }
        }
    }
};

/* A thread's walk through blocks of keys and values. */
template <typename T, uint DEPTH, uint SIMDS> struct attention_warpgroup_walk {
    static constexpr constant uint KEYS = ATTENTION_WARPGROUP_KEYS(DEPTH);
    static constexpr constant uint PADDED =
        (DEPTH + WARPGROUP_LINE - 1) / WARPGROUP_LINE * WARPGROUP_LINE;
    static constexpr constant uint VALUES = KEYS * PADDED; // they lie behind keys
    threadgroup T *now, *next; // keys of a block, and values of the one before
    threadgroup const T *own;  // queries
    device const T *k, *v;     // what the thread copies next, if it does,
    uint place;                // and where to
    bool copies;
    uint t, end; // a block, and the end of the keys that the threadgroup sees
    int left;    // rows from the thread's own of block t to the last
    uint x;      // the first of the elements that it copies
    int position;
    float factor;
    uint lane;

    bool is_whole(uint first, uint depth, constant attention_args &args) {
        return first + KEYS <= args.keys && depth == PADDED;
    }

    /* Keys of the first block. */
    void begin(constant attention_args &args) {
        if (copies) {
            stage_lines<KEYS, 0, DEPTH, WARPGROUP_COPIERS>(now + place, k, args.k_stride[2],
                                                           is_whole(t, args.depth, args), left,
                                                           int(args.depth - x));
        }
        k += KEYS * args.k_stride[2];
    }

    /* Values of a block, and keys of the next. */
    void stage(constant attention_args &args) {
        if (copies) {
            threadgroup T *to = next + place;
            stage_lines<KEYS, VALUES, DEPTH, WARPGROUP_COPIERS>(to, v, args.v_stride[2],
                                                                is_whole(t, args.value_depth, args),
                                                                left, int(args.value_depth - x));
            if (t + KEYS < end) {
                stage_lines<KEYS, 0, DEPTH, WARPGROUP_COPIERS>(
                    to, k, args.k_stride[2], is_whole(t + KEYS, args.depth, args), left - int(KEYS),
                    int(args.depth - x));
            }
        }
        k += KEYS * args.k_stride[2];
        v += KEYS * args.v_stride[2];
        left -= int(KEYS);
    }

    /* On to the next block. */
    void advance() {
        threadgroup T *used = now;
        now = next;
        next = used;
        t += KEYS;
    }

    /* Scores and weights of the first block. */
    void first(thread attention_warpgroup<T, DEPTH, SIMDS> &b, bool hides,
               constant attention_args &args) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        stage(args);
        b.find_scores(own, now);
        if (hides) {
            b.hide(position, int(t), lane, args);
        }
        b.follow(factor);
        b.round();
        advance();
    }

    /* The same of others, with the values of the block before. */
    template <bool HIDES>
    void run(thread attention_warpgroup<T, DEPTH, SIMDS> &b, uint stop,
             constant attention_args &args) {
        while (t < stop) {
            threadgroup_barrier(mem_flags::mem_threadgroup);
            stage(args);
            b.find_scores(own, now);
            b.add_values(now + VALUES);
            if (HIDES) {
                b.hide(position, int(t), lane, args);
            }
            b.follow(factor);
            b.round();
            advance();
        }
    }
};

template <typename T, uint DEPTH, uint SIMDS>
[[max_total_threads_per_threadgroup(32 * SIMDS)]]
kernel void attention_warpgroups(
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
    typedef attention_warpgroup_walk<T, DEPTH, SIMDS> path;
    constexpr uint KEYS = path::KEYS;
    constexpr uint QUERIES = 16 * SIMDS, THREADS = 32 * SIMDS;
    const uint head = group.y, batch = group.z;
    const uint start = (groups.x - 1 - group.x) * QUERIES; // most causal keys first
    const uint first = start + simd * 16;
    // what the threadgroup sees, and what all of its queries see
    const uint last = min(start + QUERIES, args.queries) - 1;
    const attention_range all = attention_seen(args, start, last);
    const attention_range inner = attention_seen(args, last, start);
    const uint begin = all.begin / KEYS * KEYS;
    const uint x = me % WARPGROUP_ALONG * 8, y = me / WARPGROUP_ALONG;
    const uint copied = me % WARPGROUP_COPIERS / WARPGROUP_ALONG; // a row of each block
    q += attention_at(args.q_stride, batch, head, start + y) + x;
    stage_lines<QUERIES, 0, DEPTH, THREADS>(queries + (y * WARPGROUP_LINE + x), q, args.q_stride[2],
                                            start + QUERIES <= args.queries &&
                                                args.depth == path::PADDED,
                                            int(args.queries - start - y) - 1, int(args.depth - x));
    threadgroup T *own = queries + simd * (16 * WARPGROUP_LINE);
    path walk = {
        .now = even,
        .next = odd,
        .own = own,
        .k = k + (attention_at(args.k_stride, batch, head / args.group, begin + copied) + x),
        .v = v + (attention_at(args.v_stride, batch, head / args.group, begin + copied) + x),
        .place = copied * WARPGROUP_LINE + x,
        .copies = me >= THREADS - WARPGROUP_COPIERS,
        .t = begin,
        .end = all.end,
        .left = int(args.keys - begin - copied) - 1,
        .x = x,
        .position = int(first + tile_row(lane) + args.keys - args.queries),
        .factor = args.scale * M_LOG2E_F,
        .lane = lane};
    attention_warpgroup<T, DEPTH, SIMDS> b;
    b.begin();
    if (begin < all.end) {
        walk.begin(args);
        walk.first(b, begin < inner.begin || begin + KEYS > inner.end, args);
        // blocks of which some queries do not see all are at the ends
        const uint whole = (inner.begin + KEYS - 1) / KEYS * KEYS;
        walk.template run<true>(b, min(whole, all.end), args);
        walk.template run<false>(b, inner.end / KEYS * KEYS, args);
        walk.template run<true>(b, all.end, args);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        b.add_values(walk.now + walk.VALUES);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // all products and copies are over
    b.finish(own, out, lse, args, batch, head, first, lane);
}

#endif
