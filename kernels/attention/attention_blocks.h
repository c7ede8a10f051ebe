/*
 * Attention of half and bfloat on GPUs with matrix units: a SIMD-group has ROWS tiles of 8 queries,
 * which share every tile of keys or values that it reads. A threadgroup stages 32 keys and values
 * at a time in threadgroup memory; while they are used, the next ones are copied to the other half
 * of it, with one barrier for each.
 *
 * Wants rows of DEPTH elements that start at multiples of 16 bytes, a scale above 0, and no mask or
 * ALiBi. Rows past the end are the last one again.
 *
 * Weights go into the product with the values as numbers of the type: bfloat as one, with a
 * relative error of 2^-8 at most each; half as the sum of two, which is as good as float here.
 */
#ifndef INGOT_KERNELS_ATTENTION_BLOCKS_H
#define INGOT_KERNELS_ATTENTION_BLOCKS_H

constant constexpr uint BLOCK_KEYS = 32, STEP_KEYS = 16, STEP_TILES = STEP_KEYS / 8;
/* Weights are powers of 2 of the distance to a reference, not to the row's largest score: it
 * follows only when the scores have grown by so much, since all sums have to follow then. */
constant constexpr float BLOCK_GROWTH = 8.0f;

template <typename T> struct attention_weight_parts {
    static constexpr constant uint count = 1;
};
template <> struct attention_weight_parts<half> {
    static constexpr constant uint count = 2;
};

/* Keys or values in threadgroup memory: tile after tile, each as 8 rows of 16 bytes, so that
 * neither the copies nor the loads of tiles meet in a bank. */
template <typename T, uint DEPTH, uint SIMDS> struct attention_panel {
    static constexpr constant uint TILES = DEPTH / 8, SIZE = BLOCK_KEYS * DEPTH;
    static constexpr constant uint THREADS = 32 * SIMDS, PIECES = SIZE / 8 / THREADS;

    /* A thread's pieces are at constant distances, and so are those of keys and values. */
    template <uint AT>
    static void stage(threadgroup T *memory, device const T *rows, long stride, uint first,
                      uint count, uint me) {
        threadgroup T *to = memory + me * 8;
        rows += me / 8 % TILES * 8;
        first += me / 8 / TILES * 8 + me % 8;
#pragma unroll
        for (uint i = 0; i < PIECES; i++)
            *(threadgroup uint4 *)(to + (AT + i * (THREADS * 8))) =
                *(device const uint4 *)(rows +
                                        min(first + i * (THREADS / TILES), count - 1) * stride);
    }
    static void stage_both(threadgroup T *memory, device const T *k, device const T *v,
                           constant attention_args &args, uint first, uint me) {
        stage<0>(memory, k, args.k_stride[2], first, args.keys, me);
        stage<SIZE>(memory, v, args.v_stride[2], first, args.keys, me);
    }
    static threadgroup const T *tile(threadgroup const T *panel, uint row, uint column) {
        return panel + (row * TILES + column) * 64;
    }
};

template <typename T, uint DEPTH, uint SIMDS, uint ROWS> struct attention_block {
    typedef attention_panel<T, DEPTH, SIMDS> panel;
    static constexpr constant uint TILES = DEPTH / 8;
    static constexpr constant uint PARTS = attention_weight_parts<T>::count;
    simdgroup_matrix<T, 8, 8> query[ROWS][TILES];
    simdgroup_float8x8 sum[ROWS][TILES], score[ROWS][STEP_TILES];
    float reference[ROWS], total[ROWS];

    void begin(device const T *q, long stride, uint first, uint count, uint lane) {
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            device const T *row = q + min(first + 8 * r + tile_row(lane), count - 1) * stride;
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                query[r][c].thread_elements() =
                    *(device const vec<T, 2> *)(row + 8 * c + tile_column(lane));
                sum[r][c] = simdgroup_float8x8(0.0f);
            }
            reference[r] = -INFINITY;
            total[r] = 0.0f;
        }
    }

    void find_scores(threadgroup const T *keys) {
#pragma unroll
        for (uint n = 0; n < STEP_TILES; n++) {
#pragma unroll
            for (uint r = 0; r < ROWS; r++)
                score[r][n] = simdgroup_float8x8(0.0f);
#pragma unroll
            for (uint c = 0; c < TILES; c++) {
                simdgroup_matrix<T, 8, 8> key;
                simdgroup_load(key, panel::tile(keys, n, c), 8, ulong2(0), true);
#pragma unroll
                for (uint r = 0; r < ROWS; r++)
                    simdgroup_multiply_accumulate(score[r][n], query[r][c], key, score[r][n]);
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
            for (uint n = 0; n < STEP_TILES; n++) {
                float2 s = score[r][n].thread_elements();
                int j = t + int(8 * n + tile_column(lane));
                s.x = j >= lowest && j <= highest ? s.x : -INFINITY;
                s.y = j + 1 >= lowest && j + 1 <= highest ? s.y : -INFINITY;
                score[r][n].thread_elements() = s;
            }
        }
    }

    /* Scores become weights. */
    void find_weights(float factor) {
        float top[ROWS];
        bool grown = false;
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            top[r] = -INFINITY;
#pragma unroll
            for (uint n = 0; n < STEP_TILES; n++) {
                float2 s = score[r][n].thread_elements();
                top[r] = max(top[r], max(s.x, s.y));
            }
            top[r] = tile_row_max(top[r]) * factor;
            grown = grown || top[r] > reference[r] + BLOCK_GROWTH;
        }
        if (simd_any(grown)) {
#pragma unroll
            for (uint r = 0; r < ROWS; r++) {
                float largest = max(reference[r], top[r]);
                float correction =
                    fast::exp2(reference[r] - (largest == -INFINITY ? 0.0f : largest));
                reference[r] = largest;
                total[r] *= correction;
#pragma unroll
                for (uint c = 0; c < TILES; c++)
                    sum[r][c].thread_elements() *= correction;
            }
        }
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            float base = reference[r] == -INFINITY ? 0.0f : reference[r];
#pragma unroll
            for (uint n = 0; n < STEP_TILES; n++) {
                float2 s = score[r][n].thread_elements();
                float2 p = fast::exp2(fma(s, float2(factor), float2(-base)));
                score[r][n].thread_elements() = p;
                total[r] += p.x + p.y; // of the lane's own columns
            }
        }
    }

    void add_values(threadgroup const T *values) {
        simdgroup_matrix<T, 8, 8> weight[PARTS][ROWS][STEP_TILES];
#pragma unroll
        for (uint r = 0; r < ROWS; r++)
#pragma unroll
            for (uint n = 0; n < STEP_TILES; n++) {
                float2 left = score[r][n].thread_elements();
#pragma unroll
                for (uint part = 0; part < PARTS; part++) {
                    vec<T, 2> rounded = vec<T, 2>(left);
                    weight[part][r][n].thread_elements() = rounded;
                    left -= float2(rounded);
                }
            }
#pragma unroll
        for (uint c = 0; c < TILES; c++) {
            simdgroup_matrix<T, 8, 8> value[STEP_TILES];
#pragma unroll
            for (uint n = 0; n < STEP_TILES; n++)
                simdgroup_load(value[n], panel::tile(values, n, c), 8);
#pragma unroll
            for (uint part = 0; part < PARTS; part++)
#pragma unroll
                for (uint r = 0; r < ROWS; r++)
#pragma unroll
                    for (uint n = 0; n < STEP_TILES; n++)
                        simdgroup_multiply_accumulate(sum[r][c], weight[part][r][n], value[n],
                                                      sum[r][c]);
        }
    }

    /* The results of a SIMD-group's rows from `first` on. */
    void finish(device T *out, device float *lse, constant attention_args &args, uint batch,
                uint head, uint first, uint lane) {
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            float all = tile_row_sum(total[r]), inverse = all == 0.0f ? 0.0f : 1.0f / all;
            uint i = first + 8 * r + tile_row(lane);
            if (i >= args.queries)
                continue;
            if ((args.flags & ATTENTION_LSE) && tile_column(lane) == 0)
                lse[attention_row(args, batch, head, i)] =
                    all == 0.0f ? -INFINITY : (reference[r] + log2(all)) * M_LN2_F;
            device T *to = out + attention_at(args.out_stride, batch, head, i) + tile_column(lane);
#pragma unroll
            for (uint c = 0; c < TILES; c++)
                *(device vec<T, 2> *)(to + 8 * c) =
                    vec<T, 2>(sum[r][c].thread_elements() * inverse);
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
                 uint3 group [[threadgroup_position_in_grid]],
                 uint3 groups [[threadgroups_per_grid]], uint me [[thread_index_in_threadgroup]],
                 uint simd [[simdgroup_index_in_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
    typedef attention_panel<T, DEPTH, SIMDS> panel;
    constexpr uint QUERIES = SIMDS * ROWS * 8;
    threadgroup uint4 even[2 * panel::SIZE / 8], odd[2 * panel::SIZE / 8]; // keys, then values
    threadgroup T *now = (threadgroup T *)even, *next = (threadgroup T *)odd;
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
    if (begin < all.end)
        panel::stage_both(now, k, v, args, begin, me);
    attention_block<T, DEPTH, SIMDS, ROWS> b;
    b.begin(q + attention_at(args.q_stride, batch, head, 0), args.q_stride[2], first, args.queries,
            lane);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint t = begin; t < all.end; t += BLOCK_KEYS) {
        if (t + BLOCK_KEYS < all.end)
            panel::stage_both(next, k, v, args, t + BLOCK_KEYS, me);
#pragma unroll
        for (uint s = 0; s < BLOCK_KEYS; s += STEP_KEYS) {
            if (t + s >= seen.end || t + s + STEP_KEYS <= seen.begin)
                continue;
            b.find_scores(now + s * DEPTH);
            if (t + s < inner.begin || t + s + STEP_KEYS > inner.end)
                b.hide(position, int(t + s), lane, args);
            b.find_weights(factor);
            b.add_values(now + (panel::SIZE + s * DEPTH));
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup T *used = now;
        now = next;
        next = used;
    }
    b.finish(out, lse, args, batch, head, first, lane);
}

#endif
