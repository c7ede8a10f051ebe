/*
 * Attention of half and bfloat on GPUs with matrix units: a SIMD-group has ROWS tiles of 8 queries,
 * which share every tile of keys or values that it reads. A threadgroup stages 32 keys and values
 * at a time in threadgroup memory; while they are used, the next ones are copied to another place,
 * with one barrier for each. Queries are in threadgroup memory too, and stay in registers only
 * where sums leave room for them.
 *
 * Wants rows of up to DEPTH elements, in multiples of eight, that start at multiples of 16 bytes,
 * and a scale above 0; the host sees to the lengths of threadgroup memory. Rows past the end are
 * the last one again. Masks and ALiBi are in a variant of their own.
 *
 * Weights go into the product with the values as numbers of the type, with a relative error of 2^-8
 * (bfloat) or 2^-11 (half) each at most. So a result is off by as much of the weighted mean of the
 * values' magnitudes at most. Weights of half have an absolute error besides where they are below
 * its normal numbers, of 2^-25; the largest weight of a row is at least 2^WEIGHT_SHIFT, so that is
 * 2^-32 of the sum for each key.
 */
#ifndef INGOT_KERNELS_ATTENTION_BLOCKS_H
#define INGOT_KERNELS_ATTENTION_BLOCKS_H

#include "attention/attention_sizes.h"

constant bool attention_biased [[function_constant(0)]]; // there is a mask, or ALiBi

constant constexpr uint BLOCK_KEYS = ATTENTION_BLOCK_KEYS, STEP_KEYS = 32;
constant constexpr uint STEP_TILES = STEP_KEYS / 8;
/* Weights are powers of 2 of the distance to a reference, not to the row's largest score: it
 * follows only when the scores have grown by so much, since all sums have to follow then. */
constant constexpr float BLOCK_GROWTH = 8.0f;

/* The reference is so far below the largest score that it was taken from: 2^(BLOCK_GROWTH + shift)
 * is the largest weight, and has to be a number of the type. */
template <typename T> struct attention_weight {
    static constexpr constant float shift = 0.0f;
};
template <> struct attention_weight<half> {
    static constexpr constant float shift = 7.0f;
};

/* Threads that copy a line together, of DEPTH / 8 pieces. */
constexpr uint threads_along(uint depth) {
    return depth <= 32 ? 4 : depth <= 64 ? 8 : depth <= 128 ? 16 : 32;
}

/* COUNT rows of `depth` elements from `first` on to lines of DEPTH, from line AT on; what is past
 * the rows' elements is 0. What a thread copies is at constant distances, and so it is for keys and
 * values. */
template <uint COUNT, uint AT, uint DEPTH, uint THREADS, typename T>
inline void stage_rows(threadgroup T *lines, device const T *rows, long stride, uint first,
                       uint end, uint depth, uint me) {
    constexpr uint LINE = DEPTH + ATTENTION_BLOCK_PAD, ALONG = threads_along(DEPTH),
                   STEP = THREADS / ALONG;
    const uint x = me % ALONG * 8;
    threadgroup T *to = lines + me / ALONG * LINE + x;
    rows += x;
    first += me / ALONG;
    if (x < depth) {
#pragma unroll
        for (uint i = 0; i < COUNT / STEP; i++) {
            *(threadgroup uint4 *)(to + (AT + i * STEP) * LINE) =
                *(device const uint4 *)(rows + min(first + i * STEP, end - 1) * stride);
        }
    } else if (x < DEPTH) {
#pragma unroll
        for (uint i = 0; i < COUNT / STEP; i++) {
            *(threadgroup uint4 *)(to + (AT + i * STEP) * LINE) = 0;
        }
    }
}

template <typename T, uint DEPTH, uint ROWS, uint KEY_TILES = STEP_TILES> struct attention_block {
    static constexpr constant uint TILES = DEPTH / 8, LINE = DEPTH + ATTENTION_BLOCK_PAD;
    static constexpr constant float SHIFT = attention_weight<T>::shift;
    static constexpr constant bool KEEPS = ROWS <= 2; // queries in registers
    simdgroup_matrix<T, 8, 8> query[KEEPS ? TILES : 1][ROWS];
    simdgroup_float8x8 sum[ROWS][TILES], score[ROWS][KEY_TILES];
    float reference[ROWS], total[ROWS];

    void begin() {
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                sum[r][c] = simdgroup_float8x8(0.0f);
            }
            reference[r] = -INFINITY;
            total[r] = 0.0f;
        }
    }

    void keep_queries(threadgroup const T *queries) {
#pragma unroll
        for (uint r = 0; r < (KEEPS ? ROWS : 0); r++)
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                simdgroup_load(query[c][r], queries + r * (8 * LINE) + 8 * c, LINE);
            }
    }

    /* Operands of the scores for 16 elements of each row. */
    struct score_tiles {
        simdgroup_matrix<T, 8, 8> query[2][ROWS], key[2][KEY_TILES];

        void load(threadgroup const T *queries, threadgroup const T *keys, uint d) {
#pragma unroll
            for (uint r = 0; r < (KEEPS ? 0 : ROWS); r++)
#pragma unroll
                for (uint h = 0; h < 2; h++) {
                    simdgroup_load(query[h][r], queries + r * (8 * LINE) + d + 8 * h, LINE);
                }
#pragma unroll
            for (uint n = 0; n < KEY_TILES; n++)
#pragma unroll
                for (uint h = 0; h < 2; h++) {
                    simdgroup_load(key[h][n], keys + n * (8 * LINE) + d + 8 * h, LINE, ulong2(0),
                                   true);
                }
        }
    };

    void find_scores(threadgroup const T *queries, threadgroup const T *keys) {
#pragma unroll
        for (uint r = 0; r < ROWS; r++)
#pragma unroll
            for (uint n = 0; n < KEY_TILES; n++) {
                score[r][n] = simdgroup_float8x8(0.0f);
            }
        score_tiles tiles[2];
        tiles[0].load(queries, keys, 0);
#pragma unroll
        for (uint d = 0; d < DEPTH; d += 16) {
            thread score_tiles &now = tiles[d / 16 % 2];
            if (d + 16 < DEPTH) {
                tiles[(d / 16 + 1) % 2].load(queries, keys, d + 16);
            }
#pragma unroll
            for (uint n = 0; n < KEY_TILES; n++)
#pragma unroll
                for (uint r = 0; r < ROWS; r++)
#pragma unroll
                    for (uint h = 0; h < 2; h++) {
                        simdgroup_multiply_accumulate(score[r][n],
                                                      KEEPS ? query[d / 8 + h][r] : now.query[h][r],
                                                      now.key[h][n], score[r][n]);
                    }
        }
    }

    /* Keys from t on that a query does not see. The lane's row of tile 0 is at `position`. */
    void hide(int position, int t, uint lane, constant attention_args &args) {
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            int lowest = position + int(8 * r) - args.left;
            int highest = min(position + int(8 * r) + args.right, int(args.keys) - 1);
#pragma unroll
            for (uint n = 0; n < KEY_TILES; n++) {
                float2 s = score[r][n].thread_elements();
                int j = t + int(8 * n + tile_column(lane));
                s.x = j >= lowest && j <= highest ? s.x : -INFINITY;
                s.y = j + 1 >= lowest && j + 1 <= highest ? s.y : -INFINITY;
                score[r][n].thread_elements() = s;
            }
        }
    }

    /* Scores times the factor, and what a mask and ALiBi add to them. The lane's row of tile 0 is
     * query i, and its first key is t. Nothing is read past the mask's end. */
    void bias(device const uchar *mask, long mask_at, float slope, uint i, uint t, float factor,
              constant attention_args &args) {
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            const uint own = min(i + 8 * r, args.queries - 1);
            const long row = mask_at + own * args.mask_stride[2];
#pragma unroll
            for (uint n = 0; n < KEY_TILES; n++) {
                float2 s = score[r][n].thread_elements();
#pragma unroll
                for (uint e = 0; e < 2; e++) {
                    const uint j = min(t + 8 * n + e, args.keys - 1);
                    s[e] = fma(s[e], factor,
                               attention_bias<T>(args, mask, row + j * args.mask_stride[3], slope,
                                                 own, j));
                }
                score[r][n].thread_elements() = s;
            }
        }
    }

    /* The reference follows the scores. */
    void follow_scores(float factor) {
        float top[ROWS];
        bool grown = false;
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            float2 most = score[r][0].thread_elements();
#pragma unroll
            for (uint n = 1; n < KEY_TILES; n++) {
                most = max(most, float2(score[r][n].thread_elements()));
            }
            top[r] = tile_row_max(max(most.x, most.y)) * factor;
            grown = grown || top[r] > reference[r] + (BLOCK_GROWTH + SHIFT);
        }
        if (grown) { // the lanes of a row have the same rows, and agree
#pragma unroll
            for (uint r = 0; r < ROWS; r++) {
                float largest = max(reference[r], top[r] - SHIFT);
                float correction =
                    fast::exp2(reference[r] - (largest == -INFINITY ? 0.0f : largest));
                reference[r] = largest;
                total[r] *= correction;
#pragma unroll
                for (uint c = 0; c < TILES; c++) {
                    sum[r][c].thread_elements() *= correction;
                }
            }
        }
    }

    /* Scores of two tiles of keys become weights. */
    void find_weights(thread simdgroup_matrix<T, 8, 8> (&weight)[ROWS][2], uint first,
                      float factor) {
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            float base = reference[r] == -INFINITY ? 0.0f : reference[r];
#pragma unroll
            for (uint n = 0; n < 2; n++) {
                float2 s = score[r][first + n].thread_elements();
                s = fast::exp2(fma(s, float2(factor), float2(-base)));
                total[r] += s.x + s.y; // of the lane's own columns
                weight[r][n].thread_elements() = vec<T, 2>(s);
            }
        }
    }

    void add_values(threadgroup const T *values, float factor) {
#pragma unroll
        for (uint first = 0; first < KEY_TILES; first += 2) {
            simdgroup_matrix<T, 8, 8> weight[ROWS][2];
            find_weights(weight, first, factor);
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                simdgroup_matrix<T, 8, 8> value[2];
#pragma unroll
                for (uint n = 0; n < 2; n++) {
                    simdgroup_load(value[n], values + (first + n) * (8 * LINE) + 8 * c, LINE);
                }
#pragma unroll
                for (uint r = 0; r < ROWS; r++)
#pragma unroll
                    for (uint n = 0; n < 2; n++) {
                        simdgroup_multiply_accumulate(sum[r][c], weight[r][n], value[n], sum[r][c]);
                    }
            }
        }
    }

    /* The results of a SIMD-group's rows from `first` on. */
    void finish(device T *out, device float *lse, constant attention_args &args, uint batch,
                uint head, uint first, uint lane) {
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            float all = tile_row_sum(total[r]), inverse = all == 0.0f ? 0.0f : 1.0f / all;
            uint i = first + 8 * r + tile_row(lane);
            if (i >= args.queries) {
                continue;
            }
            if ((args.flags & ATTENTION_LSE) && tile_column(lane) == 0) {
                lse[attention_row(args, batch, head, i)] =
                    all == 0.0f ? -INFINITY : (reference[r] + log2(all)) * M_LN2_F;
            }
            device T *to = out + attention_at(args.out_stride, batch, head, i) + tile_column(lane);
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                if (8 * c < args.value_depth) {
                    *(device vec<T, 2> *)(to + 8 * c) =
                        vec<T, 2>(sum[r][c].thread_elements() * inverse);
                }
            }
        }
    }
};

// Launched with 32 * SIMDS threads; where the sums of a SIMD-group leave room for it, the limit
// keeps it to so few registers that three or four threadgroups run at once.
template <typename T, uint DEPTH, uint SIMDS, uint ROWS>
[[max_total_threads_per_threadgroup((DEPTH * ROWS > 256   ? 32
                                     : DEPTH * ROWS > 128 ? 96
                                                          : 128) *
                                    SIMDS)]] kernel void
attention_blocks(device const T *q [[buffer(0)]], device const T *k [[buffer(1)]],
                 device const T *v [[buffer(2)]], device T *out [[buffer(3)]],
                 device float *lse [[buffer(4)]], device const uchar *mask [[buffer(5)]],
                 device const float *slopes [[buffer(6)]],
                 constant attention_args &args [[buffer(7)]],
                 threadgroup T *queries [[threadgroup(0)]], threadgroup T *even [[threadgroup(1)]],
                 threadgroup T *odd [[threadgroup(2)]], // keys, then values
                 uint3 group [[threadgroup_position_in_grid]],
                 uint3 groups [[threadgroups_per_grid]], uint me [[thread_index_in_threadgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
    typedef attention_block<T, DEPTH, ROWS> block;
    constexpr uint QUERIES = SIMDS * ROWS * 8, THREADS = SIMDS * 32,
                   VALUES = BLOCK_KEYS * block::LINE;
    threadgroup T *now = even, *next = odd;
    const uint head = group.y, batch = group.z;
    const uint start = (groups.x - 1 - group.x) * QUERIES; // most causal keys first
    const uint first = start + simd * (8 * ROWS);
    k += attention_at(args.k_stride, batch, head / args.group, 0);
    v += attention_at(args.v_stride, batch, head / args.group, 0);
    const float factor = args.scale * M_LOG2E_F;
    // what the threadgroup sees, what the SIMD-group sees, and what all of its queries see
    const uint end_of_all = min(start + QUERIES, args.queries) - 1;
    const uint last = min(first + 8 * ROWS, args.queries) - 1;
    const attention_range all = attention_seen(args, start, end_of_all);
    const attention_range seen = attention_seen(args, min(first, last), last);
    const attention_range inner = attention_seen(args, last, min(first, last));
    const int position = int(first + tile_row(lane) + args.keys - args.queries);
    const uint begin = all.begin / BLOCK_KEYS * BLOCK_KEYS;
    const long mask_at = attention_biased ? attention_at(args.mask_stride, batch, head, 0) : 0;
    const float slope = attention_biased ? attention_slope(args, slopes, batch, head) : 0.0f;
    stage_rows<QUERIES, 0, DEPTH, THREADS>(queries, q + attention_at(args.q_stride, batch, head, 0),
                                           args.q_stride[2], start, args.queries, args.depth, me);
    if (begin < all.end) {
        stage_rows<BLOCK_KEYS, 0, DEPTH, THREADS>(now, k, args.k_stride[2], begin, args.keys,
                                                  args.depth, me);
        stage_rows<BLOCK_KEYS, BLOCK_KEYS, DEPTH, THREADS>(now, v, args.v_stride[2], begin,
                                                           args.keys, args.value_depth, me);
    }
    block b;
    b.begin();
    threadgroup T *own = queries + simd * (8 * ROWS * block::LINE);
    for (uint t = begin; t < all.end; t += BLOCK_KEYS) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t == begin) {
            b.keep_queries(own);
        }
        if (t + BLOCK_KEYS < all.end) {
            stage_rows<BLOCK_KEYS, 0, DEPTH, THREADS>(next, k, args.k_stride[2], t + BLOCK_KEYS,
                                                      args.keys, args.depth, me);
            stage_rows<BLOCK_KEYS, BLOCK_KEYS, DEPTH, THREADS>(
                next, v, args.v_stride[2], t + BLOCK_KEYS, args.keys, args.value_depth, me);
        }
#pragma nounroll
        for (uint s = 0; s < BLOCK_KEYS; s += STEP_KEYS) {
            if (t + s >= seen.end || t + s + STEP_KEYS <= seen.begin) {
                continue;
            }
            b.find_scores(own, now + s * block::LINE);
            if (attention_biased) {
                b.bias(mask, mask_at, slope, first + tile_row(lane), t + s + tile_column(lane),
                       factor, args);
            }
            if (t + s < inner.begin || t + s + STEP_KEYS > inner.end) {
                b.hide(position, int(t + s), lane, args);
            }
            const float left = attention_biased ? 1.0f : factor;
            b.follow_scores(left);
            b.add_values(now + VALUES + s * block::LINE, left);
        }
        threadgroup T *used = now;
        now = next;
        next = used;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup); // copies are over before anything is stored
    b.finish(out, lse, args, batch, head, first, lane);
}

#endif
