/*
 * The first phase for GPUs with matrix units, for half and bfloat and head sizes of DEPTH: up to
 * eight rows, which are the columns of all tiles, against 16 keys at a time. Keys and values go
 * from device memory to tiles as they lie there, 16 bytes to a lane, so that few instructions stand
 * between the loads:
 *
 *   scores  [key, row] += keys [key, element] . queries [element, row]
 *   sums  [element, row] += values [element, key] . weights [key, row]
 *
 * Which element a column of a tile of keys, or a row of a tile of values, stands for does not
 * matter as long as both factors, or sums and results, agree: it is what a lane has loaded.
 * Weights go in as the sum of two numbers of the type, which is as good as float here.
 *
 * Rows of k and v start at multiples of 16 bytes. There is no mask and no ALiBi, and the scale is
 * above 0.
 */
#ifndef INGOT_KERNELS_ATTENTION_DECODE_TILES_H
#define INGOT_KERNELS_ATTENTION_DECODE_TILES_H

#include "common/attention_tiles.h"

constant constexpr uint DECODE_ROWS = 8, DECODE_KEYS = 16, DECODE_KEY_TILES = DECODE_KEYS / 8;
/* Weights are powers of 2 of the distance to a reference that follows the largest score only when
 * it is behind by so much. */
constant constexpr float DECODE_GROWTH = 8.0f;

/* Over the lanes that hold a column of a tile. */
inline float2 tile_column_max(float2 x) {
    x = max(x, simd_shuffle_xor(x, ushort(2)));
    x = max(x, simd_shuffle_xor(x, ushort(4)));
    return max(x, simd_shuffle_xor(x, ushort(16)));
}
inline float2 tile_column_sum(float2 x) {
    x += simd_shuffle_xor(x, ushort(2));
    x += simd_shuffle_xor(x, ushort(4));
    return x + simd_shuffle_xor(x, ushort(16));
}

/* x, or 0 where it is minus infinity. Component by component: vectors of bool cost GPUs more. */
inline float2 finite_base(float2 x) {
    return float2(x.x == -INFINITY ? 0.0f : x.x, x.y == -INFINITY ? 0.0f : x.y);
}

template <typename T, uint DEPTH> struct decode_tiles {
    static constexpr constant uint KEY_WORDS = DEPTH / 32, VALUE_WORDS = DEPTH / 64;
    simdgroup_matrix<T, 8, 8> query[KEY_WORDS][4];
    uint4 key[DECODE_KEY_TILES][KEY_WORDS], value[DECODE_KEY_TILES][2][VALUE_WORDS];
    simdgroup_float8x8 sum[VALUE_WORDS][8], score[DECODE_KEY_TILES];
    float2 reference, total; // of the lane's two rows; total over its own keys

    /* Tile w of four has elements 8 j + 2 w and 8 j + 2 w + 1 of each j of four. */
    void take_queries(uint row, device const T *first, device const T *second) {
#pragma unroll
        for (uint i = 0; i < KEY_WORDS; i++)
#pragma unroll
            for (uint w = 0; w < 4; w++) {
                uint at = i * 32 + row / 2 * 8 + 2 * w + row % 2;
                query[i][w].thread_elements() = vec<T, 2>(first[at], second[at]);
            }
    }

    /* Of the keys from t on; those from `end` on are the last one again. */
    void load_keys(device const T *k, constant attention_args &args, device const int *tables,
                   int t, int end, uint row) {
#pragma unroll
        for (uint n = 0; n < DECODE_KEY_TILES; n++) {
            uint number = uint(min(t + int(8 * n + row), end - 1));
            device const T *from = row_of(k, args, decode_paged, args.k_stride, tables, number);
#pragma unroll
            for (uint i = 0; i < KEY_WORDS; i++)
                key[n][i] = *(device const uint4 *)(from + i * 32);
        }
    }
    void load_values(device const T *v, constant attention_args &args, device const int *tables,
                     int t, int end, uint column) {
#pragma unroll
        for (uint n = 0; n < DECODE_KEY_TILES; n++)
#pragma unroll
            for (uint e = 0; e < 2; e++) {
                uint number = uint(min(t + int(8 * n + column + e), end - 1));
                device const T *from = row_of(v, args, decode_paged, args.v_stride, tables, number);
#pragma unroll
                for (uint i = 0; i < VALUE_WORDS; i++)
                    value[n][e][i] = *(device const uint4 *)(from + i * 64);
            }
    }

    void begin() {
        reference = -INFINITY;
        total = 0.0f;
#pragma unroll
        for (uint i = 0; i < VALUE_WORDS; i++)
#pragma unroll
            for (uint e = 0; e < 8; e++)
                sum[i][e] = simdgroup_float8x8(0.0f);
    }

    void find_scores() {
#pragma unroll
        for (uint n = 0; n < DECODE_KEY_TILES; n++)
            score[n] = simdgroup_float8x8(0.0f);
#pragma unroll
        for (uint i = 0; i < KEY_WORDS; i++)
#pragma unroll
            for (uint w = 0; w < 4; w++)
#pragma unroll
                for (uint n = 0; n < DECODE_KEY_TILES; n++) {
                    simdgroup_matrix<T, 8, 8> tile;
                    tile.thread_elements() = as_type<vec<T, 2>>(key[n][i][w]);
                    simdgroup_multiply_accumulate(score[n], tile, query[i][w], score[n]);
                }
    }

    /* Keys from t on that are not between `least` and `most`. */
    void hide(int t, int2 least, int2 most, uint row) {
#pragma unroll
        for (uint n = 0; n < DECODE_KEY_TILES; n++) {
            int number = t + int(8 * n + row);
            const float2 s = score[n].thread_elements();
            score[n].thread_elements() =
                float2(number >= least.x && number <= most.x ? s.x : -INFINITY,
                       number >= least.y && number <= most.y ? s.y : -INFINITY);
        }
    }

    /* Scores become weights. */
    void find_weights(float factor) {
        float2 top = score[0].thread_elements();
#pragma unroll
        for (uint n = 1; n < DECODE_KEY_TILES; n++)
            top = max(top, score[n].thread_elements());
        top *= factor;
        const float2 limit = reference + DECODE_GROWTH;
        if (simd_any(top.x > limit.x || top.y > limit.y)) {
            float2 largest = max(reference, tile_column_max(top));
            float2 correction = fast::exp2(reference - finite_base(largest));
            reference = largest;
            total *= correction;
#pragma unroll
            for (uint i = 0; i < VALUE_WORDS; i++)
#pragma unroll
                for (uint e = 0; e < 8; e++)
                    sum[i][e].thread_elements() *= correction;
        }
        const float2 base = finite_base(reference);
#pragma unroll
        for (uint n = 0; n < DECODE_KEY_TILES; n++) {
            float2 p = fast::exp2(fma(score[n].thread_elements(), float2(factor), -base));
            score[n].thread_elements() = p;
            total += p;
        }
    }

    void add_values() {
        simdgroup_matrix<T, 8, 8> high[DECODE_KEY_TILES], low[DECODE_KEY_TILES];
#pragma unroll
        for (uint n = 0; n < DECODE_KEY_TILES; n++) {
            float2 p = score[n].thread_elements();
            vec<T, 2> rounded = vec<T, 2>(p);
            high[n].thread_elements() = rounded;
            low[n].thread_elements() = vec<T, 2>(p - float2(rounded));
        }
#pragma unroll
        for (uint i = 0; i < VALUE_WORDS; i++)
#pragma unroll
            for (uint e = 0; e < 8; e++) {
                simdgroup_matrix<T, 8, 8> tile[DECODE_KEY_TILES];
#pragma unroll
                for (uint n = 0; n < DECODE_KEY_TILES; n++) {
                    uint a = value[n][0][i][e / 2], b = value[n][1][i][e / 2];
                    uint both = e % 2 ? a >> 16 | (b & 0xffff0000u) : (a & 0xffffu) | b << 16;
                    tile[n].thread_elements() = as_type<vec<T, 2>>(both);
                }
#pragma unroll
                for (uint n = 0; n < DECODE_KEY_TILES; n++)
                    simdgroup_multiply_accumulate(sum[i][e], tile[n], high[n], sum[i][e]);
#pragma unroll
                for (uint n = 0; n < DECODE_KEY_TILES; n++)
                    simdgroup_multiply_accumulate(sum[i][e], tile[n], low[n], sum[i][e]);
            }
    }
    /* Element e of the lane's two: of row `own`, of `rows` that share the key head. */
    void finish(uint e, uint own, uint rows, float all, uint lane_row, uint key_head, uint3 group,
                device T *out, device float *lse, device float *partial, device float2 *extremes,
                constant attention_args &args) {
        if (own < rows) {
            const uint i = own % args.queries, head = key_head * args.group + own / args.queries;
            const ulong index = attention_row(args, group.z, head, i);
            const bool whole = args.partitions == 1;
            const float inverse = all == 0.0f ? 0.0f : 1.0f / all;
            const ulong part = index * args.partitions + group.x;
            device T *to = out + attention_at(args.out_stride, group.z, head, i) + lane_row * 8;
            device float *to_part = partial + part * DEPTH + lane_row * 8;
#pragma unroll
            for (uint n = 0; n < VALUE_WORDS * 8; n++) {
                const uint at = n / 8 * 64 + n % 8;
                const float x = sum[n / 8][n % 8].thread_elements()[e];
                if (whole)
                    to[at] = T(x * inverse);
                else
                    to_part[at] = x;
            }
            if (lane_row == 0 && !whole)
                extremes[part] = float2(reference[e], all);
            if (lane_row == 0 && whole && (args.flags & ATTENTION_LSE))
                lse[index] = all == 0.0f ? -INFINITY : (reference[e] + log2(all)) * M_LN2_F;
        }
    }
};

// Launched with one SIMD-group; the limit keeps it to so few registers that many of them run at
// once.
template <typename T, uint DEPTH>
[[max_total_threads_per_threadgroup(384)]]
kernel void attention_decode_tiles(
    device const T *q [[buffer(0)]], device const T *k [[buffer(1)]],
    device const T *v [[buffer(2)]], device T *out [[buffer(3)]], device float *lse [[buffer(4)]],
    device const uchar *mask [[buffer(5)]], device const float *slopes [[buffer(6)]],
    device const int *tables [[buffer(7)]], device const int *lengths [[buffer(8)]],
    device float *partial [[buffer(9)]], device float2 *extremes [[buffer(10)]],
    constant attention_args &args [[buffer(11)]], uint3 group [[threadgroup_position_in_grid]],
    uint lane [[thread_index_in_simdgroup]]) {
    typedef decode_tiles<T, DEPTH> tiles;
    const uint rows = args.group * args.queries,
               row_groups = (rows + DECODE_ROWS - 1) / DECODE_ROWS;
    const uint batch = group.z, key_head = group.y / row_groups;
    const uint first_row = group.y % row_groups * DECODE_ROWS;
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

    // the lane's two rows, what they see, and what any and all of the eight see
    tiles b;
    device const T *from[2];
    int2 least, most;
#pragma unroll
    for (uint e = 0; e < 2; e++) {
        uint own = min(first_row + column + e, rows - 1), i = own % args.queries;
        uint head = key_head * args.group + own / args.queries;
        from[e] = q + attention_at(args.q_stride, batch, head, i);
        int position = int(i + keys - args.queries);
        least[e] = position - args.left;
        most[e] = position + args.right;
    }
    const int lowest = simd_min(min(least.x, least.y)), highest = simd_max(max(most.x, most.y));
    const int inner = simd_max(max(least.x, least.y));
    const int begin = max(int(group.x * args.partition), max(lowest, 0));
    const int end =
        min(min(int(group.x * args.partition + args.partition), int(keys)), highest + 1);
    most = min(most, int2(end - 1));
    const int inner_end = simd_min(min(most.x, most.y)) + 1;

    k += column * 4;
    v += row * 8;
    if (begin < end) {
        b.load_keys(k, args, tables, begin, end, row);
        b.load_values(v, args, tables, begin, end, column);
    }
    b.take_queries(row, from[0], from[1]);
    b.begin();
    const float factor = args.scale * M_LOG2E_F;
    for (int t = begin; t < end; t += DECODE_KEYS) {
        // what has been used makes room for the next round's
        b.find_scores();
        b.load_keys(k, args, tables, t + int(DECODE_KEYS), end, row);
        simdgroup_barrier(mem_flags::mem_device); // they set out now, and not with the values
        if (t < inner || t + int(DECODE_KEYS) > inner_end)
            b.hide(t, least, most, row);
        b.find_weights(factor);
        b.add_values();
        b.load_values(v, args, tables, t + int(DECODE_KEYS), end, column);
    }

    const float2 total = tile_column_sum(b.total);
#pragma unroll
    for (uint e = 0; e < 2; e++)
        b.finish(e, first_row + column + e, rows, total[e], row, key_head, group, out, lse, partial,
                 extremes, args);
}

#endif
