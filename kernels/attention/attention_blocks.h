/*
 * Attention of half and bfloat on GPUs with matrix units: a threadgroup of four or eight
 * SIMD-groups has 64 or 128 queries, 16 to a SIMD-group, and stages 32 keys and values at a time in
 * threadgroup memory. While they are used, the next ones are on their way into registers, in pieces
 * of 16 bytes.
 *
 * Wants rows of DEPTH elements that start at multiples of 16 bytes, and no mask or ALiBi. Weights
 * go into the product with the values as the sum of two numbers of the type, which is as good as
 * float here. Rows past the end are the last one again.
 */
#ifndef INGOT_KERNELS_ATTENTION_BLOCKS_H
#define INGOT_KERNELS_ATTENTION_BLOCKS_H

constant constexpr uint BLOCK_KEYS = 32, BLOCK_KEY_TILES = BLOCK_KEYS / 8;
constant constexpr uint BLOCK_ROWS = 2; /* row tiles of a SIMD-group */

template <typename T, uint DEPTH, uint SIMDS> struct attention_block {
    static constexpr constant uint TILES = DEPTH / 8, STRIDE = DEPTH + 8;
    static constexpr constant uint THREADS = 32 * SIMDS;
    static constexpr constant uint PIECES = BLOCK_KEYS * DEPTH / 8 / THREADS;
    simdgroup_matrix<T, 8, 8> query[BLOCK_ROWS][TILES];
    simdgroup_float8x8 sum[BLOCK_ROWS][TILES], score[BLOCK_ROWS][BLOCK_KEY_TILES];
    float largest[BLOCK_ROWS], total[BLOCK_ROWS];
    uint4 keys[PIECES], values[PIECES];

    static void load_pieces(thread uint4 (&pieces)[PIECES], device const T *rows, long stride,
                            uint first, uint count, uint me) {
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            uint piece = me + i * THREADS;
            uint row = min(first + piece / TILES, count - 1);
            pieces[i] = *(device const uint4 *)(rows + row * stride + piece % TILES * 8);
        }
    }

    static void store_pieces(thread const uint4 (&pieces)[PIECES], threadgroup T *panel, uint me) {
#pragma unroll
        for (uint i = 0; i < PIECES; i++) {
            uint piece = me + i * THREADS;
            *(threadgroup uint4 *)(panel + piece / TILES * STRIDE + piece % TILES * 8) = pieces[i];
        }
    }

    void begin(device const T *q, long stride, uint first, uint count, uint lane) {
#pragma unroll
        for (uint r = 0; r < BLOCK_ROWS; r++) {
            device const T *row = q + min(first + 8 * r + tile_row(lane), count - 1) * stride;
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                query[r][c].thread_elements() =
                    *(device const vec<T, 2> *)(row + 8 * c + tile_column(lane));
                sum[r][c] = simdgroup_float8x8(0.0f);
            }
            largest[r] = -INFINITY;
            total[r] = 0.0f;
        }
    }

    void find_scores(threadgroup const T *panel) {
#pragma unroll
        for (uint n = 0; n < BLOCK_KEY_TILES; n++) {
#pragma unroll
            for (uint r = 0; r < BLOCK_ROWS; r++)
                score[r][n] = simdgroup_float8x8(0.0f);
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                simdgroup_matrix<T, 8, 8> key;
                simdgroup_load(key, panel + 8 * n * STRIDE + 8 * c, STRIDE, ulong2(0), true);
#pragma unroll
                for (uint r = 0; r < BLOCK_ROWS; r++)
                    simdgroup_multiply_accumulate(score[r][n], query[r][c], key, score[r][n]);
            }
        }
    }

    /* Scores of keys from t on become weights. The lane's row of tile 0 is at `position`. */
    void find_weights(float factor, bool partly, int position, int t, uint lane,
                      constant attention_args &args) {
#pragma unroll
        for (uint r = 0; r < BLOCK_ROWS; r++) {
            int lowest = position + int(8 * r) - args.left;
            int highest = min(position + int(8 * r) + args.right, int(args.keys) - 1);
            float top = largest[r];
#pragma unroll
            for (uint n = 0; n < BLOCK_KEY_TILES; n++) {
                float2 s = score[r][n].thread_elements() * factor;
                int j = t + int(8 * n + tile_column(lane));
                if (partly) {
                    s.x = j >= lowest && j <= highest ? s.x : -INFINITY;
                    s.y = j + 1 >= lowest && j + 1 <= highest ? s.y : -INFINITY;
                }
                top = max(top, max(s.x, s.y));
                score[r][n].thread_elements() = s;
            }
            top = tile_row_max(top);
            float base = top == -INFINITY ? 0.0f : top;
            float correction = fast::exp2(largest[r] - base), part = 0.0f;
            largest[r] = top;
#pragma unroll
            for (uint n = 0; n < BLOCK_KEY_TILES; n++) {
                float2 p = fast::exp2(score[r][n].thread_elements() - base);
                score[r][n].thread_elements() = p;
                part += p.x + p.y;
            }
            total[r] = total[r] * correction + part; // of the lane's own columns
#pragma unroll
            for (uint c = 0; c < TILES; c++)
                sum[r][c].thread_elements() *= correction;
        }
    }

    void add_values(threadgroup const T *panel) {
        simdgroup_matrix<T, 8, 8> high[BLOCK_ROWS][BLOCK_KEY_TILES],
            low[BLOCK_ROWS][BLOCK_KEY_TILES];
#pragma unroll
        for (uint r = 0; r < BLOCK_ROWS; r++)
#pragma unroll
            for (uint n = 0; n < BLOCK_KEY_TILES; n++) {
                float2 p = score[r][n].thread_elements();
                vec<T, 2> rounded = vec<T, 2>(p);
                high[r][n].thread_elements() = rounded;
                low[r][n].thread_elements() = vec<T, 2>(p - float2(rounded));
            }
#pragma unroll
        for (uint c = 0; c < TILES; c++) {
            simdgroup_matrix<T, 8, 8> value[BLOCK_KEY_TILES];
#pragma unroll
            for (uint n = 0; n < BLOCK_KEY_TILES; n++)
                simdgroup_load(value[n], panel + 8 * n * STRIDE + 8 * c, STRIDE);
#pragma unroll
            for (uint r = 0; r < BLOCK_ROWS; r++) {
#pragma unroll
                for (uint n = 0; n < BLOCK_KEY_TILES; n++)
                    simdgroup_multiply_accumulate(sum[r][c], high[r][n], value[n], sum[r][c]);
#pragma unroll
                for (uint n = 0; n < BLOCK_KEY_TILES; n++)
                    simdgroup_multiply_accumulate(sum[r][c], low[r][n], value[n], sum[r][c]);
            }
        }
    }
};

template <typename T, uint DEPTH, uint SIMDS>
[[max_total_threads_per_threadgroup(32 * SIMDS)]]
kernel void attention_blocks(
    device const T *q [[buffer(0)]], device const T *k [[buffer(1)]],
    device const T *v [[buffer(2)]], device T *out [[buffer(3)]], device float *lse [[buffer(4)]],
    device const uchar *mask [[buffer(5)]], device const float *slopes [[buffer(6)]],
    constant attention_args &args [[buffer(7)]], uint3 group [[threadgroup_position_in_grid]],
    uint3 groups [[threadgroups_per_grid]], uint me [[thread_index_in_threadgroup]],
    uint simd [[simdgroup_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    typedef attention_block<T, DEPTH, SIMDS> block;
    constexpr uint QUERIES = SIMDS * BLOCK_ROWS * 8;
    threadgroup uint4 memory[2 * BLOCK_KEYS * block::STRIDE / 8];
    threadgroup T *key_panel = (threadgroup T *)memory;
    threadgroup T *value_panel = key_panel + BLOCK_KEYS * block::STRIDE;
    const uint head = group.y, batch = group.z;
    const uint start = (groups.x - 1 - group.x) * QUERIES; // most causal keys first
    const uint first = start + simd * (8 * BLOCK_ROWS);
    k += attention_at(args.k_stride, batch, head / args.group, 0);
    v += attention_at(args.v_stride, batch, head / args.group, 0);
    block b;
    b.begin(q + attention_at(args.q_stride, batch, head, 0), args.q_stride[2], first, args.queries,
            lane);
    const float factor = args.scale * M_LOG2E_F;
    // what the threadgroup sees, what the SIMD-group sees, and what all of its queries see
    const uint end_of_all = min(start + QUERIES, args.queries) - 1;
    const uint last = min(first + 8 * BLOCK_ROWS, args.queries) - 1;
    const attention_range all = attention_seen(args, start, end_of_all);
    const attention_range seen = attention_seen(args, min(first, last), last);
    const attention_range inner = attention_seen(args, last, min(first, last));
    const int position = int(first + tile_row(lane) + args.keys - args.queries);
    const uint begin = all.begin / BLOCK_KEYS * BLOCK_KEYS;
    if (begin < all.end) {
        block::load_pieces(b.keys, k, args.k_stride[2], begin, args.keys, me);
        block::load_pieces(b.values, v, args.v_stride[2], begin, args.keys, me);
    }
    for (uint t = begin; t < all.end; t += BLOCK_KEYS) {
        block::store_pieces(b.keys, key_panel, me);
        block::store_pieces(b.values, value_panel, me);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (t + BLOCK_KEYS < all.end) {
            block::load_pieces(b.keys, k, args.k_stride[2], t + BLOCK_KEYS, args.keys, me);
            block::load_pieces(b.values, v, args.v_stride[2], t + BLOCK_KEYS, args.keys, me);
        }
        if (t < seen.end && t + BLOCK_KEYS > seen.begin) {
            b.find_scores(key_panel);
            b.find_weights(factor, t < inner.begin || t + BLOCK_KEYS > inner.end, position, int(t),
                           lane, args);
            b.add_values(value_panel);
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
#pragma unroll
    for (uint r = 0; r < BLOCK_ROWS; r++) {
        float total = tile_row_sum(b.total[r]), inverse = total == 0.0f ? 0.0f : 1.0f / total;
        uint i = first + 8 * r + tile_row(lane);
        if (i >= args.queries)
            continue;
        if ((args.flags & ATTENTION_LSE) && tile_column(lane) == 0)
            lse[attention_row(args, batch, head, i)] =
                total == 0.0f ? -INFINITY : (b.largest[r] + log2(total)) * M_LN2_F;
        device T *to = out + attention_at(args.out_stride, batch, head, i) + tile_column(lane);
#pragma unroll
        for (uint c = 0; c < block::TILES; c++)
            *(device vec<T, 2> *)(to + 8 * c) = vec<T, 2>(b.sum[r][c].thread_elements() * inverse);
    }
}

#endif
