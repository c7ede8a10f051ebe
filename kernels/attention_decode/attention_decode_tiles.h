/*
 * The first phase for GPUs with matrix units, for half and bfloat and head sizes of up to DEPTH, in
 * multiples of eight (what is past them is 0): up to four or eight rows (SETS of four) against 16
 * keys at a time. Keys and values go from device memory to tiles as they lie there, 16 bytes to a
 * lane and by whole lines of 128 bytes, so that few instructions stand between the loads:
 *
 *   scores  [key, row] += keys [key, element] . queries [element, row]
 *   sums  [element, row] += values [element, key] . weights [key, row]
 *
 * Which element a column of a tile of keys, or a row of a tile of values, stands for does not
 * matter as long as both factors, or sums and results, agree: it is what a lane has loaded. Each of
 * four rows has two columns of a tile:
 *
 * - A row of a tile of keys is one half of 64 elements of a key: a tile has four keys, 8 lanes load
 *   128 bytes of each. The two columns of a row of queries have its two halves; the sum of a key's
 *   two halves by their own columns is the score.
 * - Of the two columns of a row's weights one has them rounded, the other what is left, which is as
 *   good as float here.
 *
 * Rows of tiles go by the lane's `row`: key row % 4 and half row / 4. Of the 16 keys that are taken
 * at a time a lane has the scores of keys 8 half + 4 m + row % 4 for m of two, of one row of each
 * set. A row's result does not depend on the number of rows.
 *
 * Rows of k and v start at multiples of 16 bytes, and the scale is above 0. Masks and ALiBi are in
 * variants of their own.
 */
#ifndef INGOT_KERNELS_ATTENTION_DECODE_TILES_H
#define INGOT_KERNELS_ATTENTION_DECODE_TILES_H

#include "common/attention_tiles.h"

constant constexpr uint DECODE_KEYS = 16, DECODE_SET = 4;
constant constexpr uint DECODE_SIMDS = 4; // to a threadgroup, which take 16 keys each in turn
/* Weights are powers of 2 of the distance to a reference that follows the largest score only when
 * it is behind by so much. */
constant constexpr float DECODE_GROWTH = 8.0f;

/* Over the lanes that hold a column of a tile. */
inline float tile_column_max(float x) {
    x = max(x, simd_shuffle_xor(x, ushort(2)));
    x = max(x, simd_shuffle_xor(x, ushort(4)));
    return max(x, simd_shuffle_xor(x, ushort(16)));
}
inline float tile_column_sum(float x) {
    x += simd_shuffle_xor(x, ushort(2));
    x += simd_shuffle_xor(x, ushort(4));
    return x + simd_shuffle_xor(x, ushort(16));
}

/* Element e of eight of each, side by side. */
inline uint element_of_two(uint4 first, uint4 second, uint e) {
    const uint a = first[e / 2], b = second[e / 2];
    return e % 2 ? a >> 16 | (b & 0xffff0000u) : (a & 0xffffu) | b << 16;
}

/* x, or 0 where it is minus infinity. */
inline float finite_base(float x) {
    return x == -INFINITY ? 0.0f : x;
}

/* A row of each four, of the lane's keys. */
template <typename T, uint DEPTH> struct decode_set {
    static constexpr constant uint BLOCKS = DEPTH / 64;
    simdgroup_matrix<T, 8, 8> query[BLOCKS][4];
    simdgroup_float8x8 sum[BLOCKS][8];
    float score[2], reference, total; // total over the lane's own keys
    int least, most;                  // keys that the row sees
    int position;                     // of its query, where there is a bias;
    float slope;                      // for ALiBi,
    long mask_at;                     // and where its row of the mask begins

    /* Tile w of four has elements 8 j + 2 w and 8 j + 2 w + 1 of each j of four. They go by way of
     * threadgroup memory, from where they are loaded as the product wants them. */
    void bring(uint row, uint column, device const T *from, uint depth, threadgroup T *queries) {
#pragma unroll
        for (uint n = 0; n < BLOCKS * 4; n++) {
            const uint at = n / 4 * 64 + row / 2 * 8 + 2 * (n % 4) + row % 2;
            queries[n * 64 + column * 8 + row] = at < depth ? from[at] : T(0.0f);
            queries[n * 64 + (column + 1) * 8 + row] = at + 32 < depth ? from[at + 32] : T(0.0f);
        }
    }

    void begin(threadgroup const T *queries) {
#pragma unroll
        for (uint n = 0; n < BLOCKS * 4; n++) {
            simdgroup_load(query[n / 4][n % 4], queries + n * 64, 8, ulong2(0), true);
        }
        reference = -INFINITY;
        total = 0.0f;
#pragma unroll
        for (uint n = 0; n < BLOCKS * 8; n++) {
            sum[n / 8][n % 8] = simdgroup_float8x8(0.0f);
        }
    }

    void find_scores(thread const uint4 (&key)[4][BLOCKS], bool second_half) {
        simdgroup_float8x8 part[4];
#pragma unroll
        for (uint n = 0; n < 4; n++) {
            part[n] = simdgroup_float8x8(0.0f);
        }
#pragma unroll
        for (uint i = 0; i < BLOCKS; i++)
#pragma unroll
            for (uint w = 0; w < 4; w++)
#pragma unroll
                for (uint n = 0; n < 4; n++) {
                    simdgroup_matrix<T, 8, 8> tile;
                    tile.thread_elements() = as_type<vec<T, 2>>(key[n][i][w]);
                    simdgroup_multiply_accumulate(part[n], tile, query[i][w], part[n]);
                }
#pragma unroll
        for (uint m = 0; m < 2; m++) {
            const float2 low = part[m].thread_elements(), high = part[m + 2].thread_elements();
            const float first = second_half ? low.y : low.x;
            const float second = second_half ? high.y : high.x;
            const float other = simd_shuffle_xor(second_half ? first : second, ushort(16));
            score[m] = (second_half ? second : first) + other;
        }
    }

    /* Keys that the row does not see; the lane's first one is number `first`. */
    void hide(int first) {
#pragma unroll
        for (uint m = 0; m < 2; m++) {
            const int number = first + int(4 * m);
            score[m] = number >= least && number <= most ? score[m] : -INFINITY;
        }
    }

    /* Scores times the factor, and what a mask and ALiBi add to them. Keys past the last of `keys`
     * are the last one. */
    void bias(int first, int keys, float factor, device const uchar *mask,
              constant attention_args &args) {
#pragma unroll
        for (uint m = 0; m < 2; m++) {
            const int number = min(first + int(4 * m), keys - 1);
            const long at = mask_at + number * args.mask_stride[3];
            float added = 0.0f;
            if (args.flags & ATTENTION_ALIBI) {
                added = -slope * abs(float(position - number));
            }
            if (args.flags & ATTENTION_MASK_BOOL) {
                added = mask[at] ? added : -INFINITY;
            } else if (args.flags & ATTENTION_MASK_F32) {
                added += ((device const float *)mask)[at];
            } else if (args.flags & ATTENTION_MASK_SAME) {
                added += float(((device const T *)mask)[at]);
            }
            score[m] = fma(score[m], factor, added * M_LOG2E_F);
        }
    }

    /* Scores become weights. */
    void find_weights(float factor) {
        const float top = max(score[0], score[1]) * factor;
        if (simd_any(top > reference + DECODE_GROWTH)) {
            const float largest = max(reference, tile_column_max(top));
            const float correction = fast::exp2(reference - finite_base(largest));
            reference = largest;
            total *= correction;
#pragma unroll
            for (uint n = 0; n < BLOCKS * 8; n++) {
                sum[n / 8][n % 8].thread_elements() *= correction;
            }
        }
        const float base = finite_base(reference);
#pragma unroll
        for (uint m = 0; m < 2; m++) {
            score[m] = fast::exp2(fma(score[m], factor, -base));
            total += score[m];
        }
    }

    void add_values(thread const uint4 (&value)[2][2][BLOCKS]) {
        simdgroup_matrix<T, 8, 8> weight[2];
#pragma unroll
        for (uint m = 0; m < 2; m++) {
            const T rounded = T(score[m]);
            weight[m].thread_elements() = vec<T, 2>(rounded, T(score[m] - float(rounded)));
        }
#pragma unroll
        for (uint i = 0; i < BLOCKS; i++)
#pragma unroll
            for (uint e = 0; e < 8; e++)
#pragma unroll
                for (uint m = 0; m < 2; m++) {
                    simdgroup_matrix<T, 8, 8> tile;
                    tile.thread_elements() =
                        as_type<vec<T, 2>>(element_of_two(value[m][0][i], value[m][1][i], e));
                    simdgroup_multiply_accumulate(sum[i][e], tile, weight[m], sum[i][e]);
                }
    }

    /* The sums of a SIMD-group, of the row that is its first one's number `own`, with `base` as the
     * reference. */
    void leave(threadgroup float *sums, uint lane_row, float base) {
#pragma unroll
        for (uint n = 0; n < BLOCKS * 8; n++) {
            const float2 both = sum[n / 8][n % 8].thread_elements();
            sums[n / 8 * 64 + n % 8 + lane_row * 8] =
                (both.x + both.y) * fast::exp2(reference - base);
        }
    }
};

/* The largest reference of a row among the SIMD-groups. */
inline float largest_of(threadgroup const float2 *ends, uint rows) {
    float largest = ends[0].x;
#pragma unroll
    for (uint s = 1; s < DECODE_SIMDS; s++) {
        largest = max(largest, ends[s * rows].x);
    }
    return largest;
}

/* Puts the SIMD-groups' sums of a row together. */
template <typename T, uint ROWS, uint LINE>
inline void finish_row(threadgroup const float *sums, threadgroup const float2 *ends, uint own,
                       uint key_head, uint3 group, uint lane, device T *out, device float *lse,
                       device float *partial, device float2 *extremes,
                       constant attention_args &args) {
    const float largest = largest_of(ends, ROWS), base = finite_base(largest);
    float all = 0.0f;
#pragma unroll
    for (uint s = 0; s < DECODE_SIMDS; s++) {
        all += ends[s * ROWS].y * fast::exp2(ends[s * ROWS].x - base);
    }
    const uint i = own % args.queries, head = key_head * args.group + own / args.queries;
    const ulong index = attention_row(args, group.z, head, i);
    const bool whole = args.partitions == 1;
    const float inverse = all == 0.0f ? 0.0f : 1.0f / all;
    const ulong part = index * args.partitions + group.x;
    out += attention_at(args.out_stride, group.z, head, i);
    partial += part * args.value_depth;
    for (uint d = lane; d < args.value_depth; d += LANES) {
        float x = 0.0f;
#pragma unroll
        for (uint s = 0; s < DECODE_SIMDS; s++) {
            x += sums[s * (ROWS * LINE) + d];
        }
        if (whole) {
            out[d] = T(x * inverse);
        } else {
            partial[d] = x;
        }
    }
    if (lane == 0 && !whole) {
        extremes[part] = float2(largest, all);
    }
    if (lane == 0 && whole && (args.flags & ATTENTION_LSE)) {
        lse[index] = all == 0.0f ? -INFINITY : (largest + log2(all)) * M_LN2_F;
    }
}

/* Of the keys from t on; those from `end` on are the last one again. The lane's first element has
 * `left` others up to the row's end. */
template <uint BLOCKS, typename T>
inline void load_keys(thread uint4 (&key)[4][BLOCKS], device const T *k,
                      constant attention_args &args, device const int *tables, int t, int end,
                      uint row, uint left) {
#pragma unroll
    for (uint n = 0; n < 4; n++) {
        const uint number = uint(min(t + int(4 * n + row % 4), end - 1));
        device const T *from = row_of(k, args, decode_paged, args.k_stride, tables, number);
#pragma unroll
        for (uint i = 0; i < BLOCKS; i++) {
            key[n][i] = i * 64 < left ? *(device const uint4 *)(from + i * 64) : uint4(0);
        }
    }
}
template <uint BLOCKS, typename T>
inline void load_values(thread uint4 (&value)[2][2][BLOCKS], device const T *v,
                        constant attention_args &args, device const int *tables, int t, int end,
                        uint column, uint left) {
#pragma unroll
    for (uint m = 0; m < 2; m++)
#pragma unroll
        for (uint e = 0; e < 2; e++) {
            const uint at = column / 4 * 8 + 4 * m + column % 4 + e;
            const uint number = uint(min(t + int(at), end - 1));
            device const T *from = row_of(v, args, decode_paged, args.v_stride, tables, number);
#pragma unroll
            for (uint i = 0; i < BLOCKS; i++) {
                value[m][e][i] = i * 64 < left ? *(device const uint4 *)(from + i * 64) : uint4(0);
            }
        }
}

// Launched with DECODE_SIMDS SIMD-groups; the limit keeps it to so few registers that several
// threadgroups run at once.
template <typename T, uint DEPTH, uint SETS>
[[max_total_threads_per_threadgroup(DEPTH <= 128 ? (SETS == 1 ? 384 : 256) : 256)]] kernel void
attention_decode_tiles(
    device const T *q [[buffer(0)]], device const T *k [[buffer(1)]],
    device const T *v [[buffer(2)]], device T *out [[buffer(3)]], device float *lse [[buffer(4)]],
    device const uchar *mask [[buffer(5)]], device const float *slopes [[buffer(6)]],
    device const int *tables [[buffer(7)]], device const int *lengths [[buffer(8)]],
    device float *partial [[buffer(9)]], device float2 *extremes [[buffer(10)]],
    constant attention_args &args [[buffer(11)]], uint3 group [[threadgroup_position_in_grid]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint ROWS = SETS * DECODE_SET, BLOCKS = DEPTH / 64;
    constexpr uint LINE = DEPTH + 2; // so that rows are in different banks
    constexpr uint ROUND = DECODE_SIMDS * DECODE_KEYS;
    threadgroup T queries[SETS][DEPTH * 4];
    threadgroup float sums[DECODE_SIMDS][ROWS][LINE];
    threadgroup float2 ends[DECODE_SIMDS][ROWS]; // of each SIMD-group: reference and total
    const uint rows = args.group * args.queries;
    const uint row_groups = (rows + ROWS - 1) / ROWS;
    const uint batch = group.z, key_head = group.y / row_groups;
    const uint first_row = group.y % row_groups * ROWS;
    const uint row = tile_row(lane), column = tile_column(lane);
    uint keys = args.keys;
    if (decode_paged) {
        keys = uint(clamp(lengths[batch], 0, int(args.keys)));
        tables += ulong(batch) * args.max_blocks;
        k += key_head * args.k_stride[1];
        v += key_head * args.v_stride[1];
    } else {
        k += attention_at(args.k_stride, batch, key_head, 0);
        v += attention_at(args.v_stride, batch, key_head, 0);
    }

    // the lane's rows, what they see, and what any and all of the rows see
    decode_set<T, DEPTH> sets[SETS];
    device const T *from[SETS];
    int lowest = ATTENTION_NO_LIMIT, highest = -1, inner = -1;
#pragma unroll
    for (uint s = 0; s < SETS; s++) {
        const uint own = min(first_row + s * DECODE_SET + column / 2, rows - 1);
        const uint i = own % args.queries, head = key_head * args.group + own / args.queries;
        from[s] = q + attention_at(args.q_stride, batch, head, i);
        const int position = int(i + keys - args.queries);
        sets[s].least = position - args.left;
        sets[s].most = position + args.right;
        if (decode_biased) {
            sets[s].position = position;
            sets[s].slope = attention_slope(args, slopes, batch, head);
            sets[s].mask_at = attention_at(args.mask_stride, batch, head, i);
        }
        lowest = min(lowest, sets[s].least);
        inner = max(inner, sets[s].least);
        highest = max(highest, sets[s].most);
    }
    lowest = simd_min(lowest);
    highest = simd_max(highest);
    inner = simd_max(inner);
    // 64 keys to each partition in turn, so that what is read at a time lies together; partitions
    // that a short sequence of a batch does not need have none
    const uint needed = max((keys + args.partition - 1) / args.partition, 1u);
    const int end = group.x < needed ? min(int(keys), highest + 1) : 0;
    const int begin = max(lowest, 0) + int(group.x * ROUND + simd * DECODE_KEYS);
    const int step = int(needed * ROUND);
    int inner_end = ATTENTION_NO_LIMIT;
#pragma unroll
    for (uint s = 0; s < SETS; s++) {
        sets[s].most = min(sets[s].most, end - 1);
        inner_end = min(inner_end, sets[s].most + 1);
    }
    inner_end = simd_min(inner_end);

    const uint key_at = row / 4 * 32 + column * 4, value_at = row * 8;
    const uint key_left = args.depth - min(key_at, args.depth);
    const uint value_left = args.value_depth - min(value_at, args.value_depth);
    k += key_at;
    v += value_at;
    uint4 key[4][BLOCKS], value[2][2][BLOCKS];
    if (begin < end) {
        load_keys<BLOCKS>(key, k, args, tables, begin, end, row, key_left);
        load_values<BLOCKS>(value, v, args, tables, begin, end, column, value_left);
    }
#pragma unroll
    for (uint s = 0; s < SETS; s++) {
        if (simd == s) {
            sets[s].bring(row, column, from[s], args.depth, queries[s]);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint s = 0; s < SETS; s++) {
        sets[s].begin(queries[s]);
    }
    const float factor = args.scale * M_LOG2E_F;
    for (int t = begin; t < end; t += step) {
        // what has been used makes room for the next round's
#pragma unroll
        for (uint s = 0; s < SETS; s++) {
            sets[s].find_scores(key, row / 4);
        }
        load_keys<BLOCKS>(key, k, args, tables, t + step, end, row, key_left);
        simdgroup_barrier(mem_flags::mem_device); // they set out now, and not with the values
#pragma unroll
        for (uint s = 0; s < SETS; s++) {
            const int first = t + int(row / 4 * 8 + row % 4);
            if (decode_biased) {
                sets[s].bias(first, int(keys), factor, mask, args);
            }
            if (t < inner || t + int(DECODE_KEYS) > inner_end) {
                sets[s].hide(first);
            }
            sets[s].find_weights(decode_biased ? 1.0f : factor);
        }
#pragma unroll
        for (uint s = 0; s < SETS; s++) {
            sets[s].add_values(value);
        }
        load_values<BLOCKS>(value, v, args, tables, t + step, end, column, value_left);
    }

#pragma unroll
    for (uint s = 0; s < SETS; s++) {
        const float all = tile_column_sum(sets[s].total);
        if (row == 0) {
            ends[simd][s * DECODE_SET + column / 2] = float2(sets[s].reference, all);
        }
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint s = 0; s < SETS; s++) {
        const uint own = s * DECODE_SET + column / 2;
        sets[s].leave(sums[simd][own], row, finite_base(largest_of(&ends[0][own], ROWS)));
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
    for (uint r = 0; r < ROWS; r += DECODE_SIMDS) {
        const uint own = r + simd;
        if (first_row + own < rows) {
            finish_row<T, ROWS, LINE>(sums[0][own], &ends[0][own], first_row + own, key_head, group,
                                      lane, out, lse, partial, extremes, args);
        }
    }
}

#endif
