// Attention forward with online softmax (Milakov and Gimelshein 2018; Dao et al. 2022): keys are
// taken in blocks; the running maximum and sum of each query correct what was summed before.
//
// attention_lanes: a SIMD-group has 32 queries, one to a lane.
// attention_tiles: a SIMD-group has ROWS * 8 queries as simdgroup_matrix tiles.
#include <metal_stdlib>
using namespace metal;
#include "common/attention_tiles.h"
#include "common/instantiate.h"

template <typename T, uint STEP>
kernel void attention_lanes(device const T *q [[buffer(0)]],
                            device const T *k [[buffer(1)]],
                            device const T *v [[buffer(2)]],
                            device T *out [[buffer(3)]],
                            device float *lse [[buffer(4)]],
                            device const uchar *mask [[buffer(5)]],
                            device const float *slopes [[buffer(6)]],
                            constant attention_args &args [[buffer(7)]],
                            uint3 group [[threadgroup_position_in_grid]],
                            uint3 groups [[threadgroups_per_grid]],
                            uint lane [[thread_index_in_simdgroup]]) {
    typedef attention_rows<T> rows;
    threadgroup float stage[rows::staged];
    float query[ATTENTION_DEPTH], sum[ATTENTION_DEPTH], score[ATTENTION_BLOCK];

    uint head = group.y, batch = group.z;
    uint first = (groups.x - 1 - group.x) * ATTENTION_LANES; // those with most causal keys first
    uint last = min(first + ATTENTION_LANES, args.queries) - 1;
    uint i = min(first + lane, last);
    q += attention_at(args.q_stride, batch, head, i);
    k += attention_at(args.k_stride, batch, head / args.group, 0);
    v += attention_at(args.v_stride, batch, head / args.group, 0);
    float factor = args.scale * M_LOG2E_F;
    for (uint d = 0; d < args.depth; d++)
        query[d] = float(q[d]) * factor;
    for (uint d = 0; d < args.value_depth; d++)
        sum[d] = 0.0f;

    long mask_at = attention_at(args.mask_stride, batch, head, i);
    float slope = attention_slope(args, slopes, batch, head);
    int position = int(i + args.keys - args.queries);
    int lowest = position - args.left, highest = position + args.right;
    float largest = -INFINITY, total = 0.0f;
    attention_range seen = attention_seen(args, first, last);
    attention_range inner = attention_seen(args, last, first);
    uint block = rows::block(max(args.depth, args.value_depth));
    for (uint t = seen.begin; t < seen.end; t += block) {
        uint count = min(block, seen.end - t);
        attention_scores<STEP>(query,
                               rows::bring(k + t * args.k_stride[2], args.k_stride[2], args.depth,
                                           count, lane, stage),
                               rows::stride_of(args.k_stride[2], args.depth), args.depth, count,
                               score);
        if (t < inner.begin || t + count > inner.end)
            for (uint j = 0; j < count; j++)
                score[j] = int(t + j) >= lowest && int(t + j) <= highest ? score[j] : -INFINITY;
        if (args.flags & ATTENTION_BIASED)
            for (uint j = 0; j < count; j++)
                score[j] += attention_bias<T>(args, mask, mask_at + (t + j) * args.mask_stride[3],
                                              slope, i, t + j);
        float top = largest;
        for (uint j = 0; j < count; j++)
            top = max(top, score[j]);
        float base = top == -INFINITY ? 0.0f : top;
        float correction = exp2(largest - base), part = 0.0f;
        for (uint j = 0; j < count; j++) {
            float p = exp2(score[j] - base);
            score[j] = p;
            part += p;
        }
        total = total * correction + part;
        largest = top;
        attention_add<STEP>(sum, correction, score,
                            rows::bring(v + t * args.v_stride[2], args.v_stride[2],
                                        args.value_depth, count, lane, stage),
                            rows::stride_of(args.v_stride[2], args.value_depth), args.value_depth,
                            count);
    }
    if (first + lane > last)
        return;
    // a query that sees nothing gets 0, and -infinity as the logarithm of its sum
    float inverse = total == 0.0f ? 0.0f : 1.0f / total;
    out += attention_at(args.out_stride, batch, head, i);
    for (uint d = 0; d < args.value_depth; d++)
        out[d] = T(sum[d] * inverse);
    if (args.flags & ATTENTION_LSE)
        lse[attention_row(args, batch, head, i)] =
            total == 0.0f ? -INFINITY : (largest + log2(total)) * M_LN2_F;
}

template <typename T, uint DEPTH, uint ROWS>
kernel void attention_tiles(device const T *q [[buffer(0)]],
                            device const T *k [[buffer(1)]],
                            device const T *v [[buffer(2)]],
                            device T *out [[buffer(3)]],
                            device float *lse [[buffer(4)]],
                            device const uchar *mask [[buffer(5)]],
                            device const float *slopes [[buffer(6)]],
                            constant attention_args &args [[buffer(7)]],
                            uint3 group [[threadgroup_position_in_grid]],
                            uint3 groups [[threadgroups_per_grid]],
                            uint simdgroup [[simdgroup_index_in_threadgroup]],
                            uint simdgroups [[simdgroups_per_threadgroup]],
                            uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint QUERIES = ROWS * 8, KEYS = ATTENTION_OTHERS, TILES = DEPTH / 8;
    uint head = group.y, batch = group.z;
    uint block = (groups.x - 1 - group.x) * simdgroups + simdgroup; // most causal keys first
    if (block * QUERIES >= args.queries)
        return;
    uint first = min(block * QUERIES, args.queries - QUERIES), last = first + QUERIES - 1;
    q += attention_at(args.q_stride, batch, head, first);
    k += attention_at(args.k_stride, batch, head / args.group, 0);
    v += attention_at(args.v_stride, batch, head / args.group, 0);
    out += attention_at(args.out_stride, batch, head, first);

    attention_tile_sums<ROWS, TILES> sum;
    attention_tile_sums<ROWS, ATTENTION_COLUMNS> score;
    float largest[ROWS], total[ROWS];
    sum.clear();
    for (uint r = 0; r < ROWS; r++) {
        largest[r] = -INFINITY;
        total[r] = 0.0f;
    }
    long mask_at = attention_at(args.mask_stride, batch, head, 0);
    float slope = attention_slope(args, slopes, batch, head);
    float factor = args.scale * M_LOG2E_F;
    attention_range seen = attention_seen(args, first, last);
    attention_range inner = attention_seen(args, last, first);
    for (uint at = seen.begin & ~(KEYS - 1); at < seen.end; at += KEYS) {
        uint t = min(at, args.keys - KEYS); // keys before `at` have been taken
        bool partly = at != t || t < inner.begin || t + KEYS > inner.end;
        score.product(q, args.q_stride[2], k + t * args.k_stride[2], args.k_stride[2], args.depth);
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            uint i = first + 8 * r + tile_row(lane);
            int position = int(i + args.keys - args.queries);
            int lowest = max(position - args.left, int(at)), highest = position + args.right;
            float top = largest[r];
#pragma unroll
            for (uint c = 0; c < ATTENTION_COLUMNS; c++) {
                float2 s = score.tile[r][c].thread_elements() * factor;
                uint j = t + 8 * c + tile_column(lane);
#pragma unroll
                for (uint e = 0; e < 2; e++) {
                    if (args.flags & ATTENTION_BIASED)
                        s[e] += attention_bias<T>(args, mask,
                                                  mask_at + i * args.mask_stride[2] +
                                                      (j + e) * args.mask_stride[3],
                                                  slope, i, j + e);
                    if (partly)
                        s[e] = int(j + e) >= lowest && int(j + e) <= highest ? s[e] : -INFINITY;
                    top = max(top, s[e]);
                }
                score.tile[r][c].thread_elements() = s;
            }
            top = tile_row_max(top);
            float base = top == -INFINITY ? 0.0f : top;
            float correction = exp2(largest[r] - base), part = 0.0f;
            largest[r] = top;
#pragma unroll
            for (uint c = 0; c < ATTENTION_COLUMNS; c++) {
                float2 p = exp2(score.tile[r][c].thread_elements() - base);
                score.tile[r][c].thread_elements() = p;
                part += p.x + p.y;
            }
            total[r] = total[r] * correction + part; // of the lane's own columns
#pragma unroll
            for (uint c = 0; c < TILES; c++)
                sum.tile[r][c].thread_elements() *= correction;
        }
        sum.add(score, v + t * args.v_stride[2], args.v_stride[2], args.value_depth);
    }
    float inverse[ROWS];
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        float all = tile_row_sum(total[r]);
        inverse[r] = all == 0.0f ? 0.0f : 1.0f / all;
        if ((args.flags & ATTENTION_LSE) && tile_column(lane) == 0)
            lse[attention_row(args, batch, head, first + 8 * r + tile_row(lane))] =
                all == 0.0f ? -INFINITY : (largest[r] + log2(all)) * M_LN2_F;
    }
    sum.store(out, args.out_stride[2], args.value_depth, inverse);
}

#include "attention/attention_units.h"
#include "attention/attention_blocks.h"
#include "attention/attention_warpgroups.h"
#include "attention/attention_floats.h"

#define INSTANTIATE_LANES(step)                                                                    \
    INSTANTIATE_KERNEL("attention_lanes_" #step "_f32", attention_lanes<float, step>)              \
    INSTANTIATE_KERNEL("attention_lanes_" #step "_f16", attention_lanes<half, step>)               \
    INSTANTIATE_KERNEL("attention_lanes_" #step "_bf16", attention_lanes<bfloat, step>)
INSTANTIATE_LANES(2)
INSTANTIATE_LANES(4)
INSTANTIATE_LANES(8)

#define INSTANTIATE_TILES(depth, rows)                                                             \
    INSTANTIATE_KERNEL("attention_tiles_" #depth "_f32", attention_tiles<float, depth, rows>)      \
    INSTANTIATE_KERNEL("attention_tiles_" #depth "_f16", attention_tiles<half, depth, rows>)       \
    INSTANTIATE_KERNEL("attention_tiles_" #depth "_bf16", attention_tiles<bfloat, depth, rows>)
INSTANTIATE_TILES(64, 2)
INSTANTIATE_TILES(128, 2)
INSTANTIATE_TILES(256, 1)

/* SIMD-groups to a threadgroup, and tiles of queries to each. */
#define INSTANTIATE_BLOCKS(depth, simds, rows)                                                     \
    INSTANTIATE_KERNEL("attention_blocks_" #depth "_" #simds "x" #rows "_f16",                     \
                       attention_blocks<half, depth, simds, rows>)                                 \
    INSTANTIATE_KERNEL("attention_blocks_" #depth "_" #simds "x" #rows "_bf16",                    \
                       attention_blocks<bfloat, depth, simds, rows>)
INSTANTIATE_BLOCKS(32, 4, 2)
INSTANTIATE_BLOCKS(32, 4, 4)
INSTANTIATE_BLOCKS(64, 4, 2)
INSTANTIATE_BLOCKS(64, 4, 4)
INSTANTIATE_BLOCKS(96, 4, 2)
INSTANTIATE_BLOCKS(96, 4, 4)
INSTANTIATE_BLOCKS(128, 4, 2)
INSTANTIATE_BLOCKS(128, 4, 4)
INSTANTIATE_BLOCKS(192, 4, 2)
INSTANTIATE_BLOCKS(256, 4, 2)
INSTANTIATE_KERNEL("attention_units_pack_bf16", attention_units_pack<bfloat>)
INSTANTIATE_KERNEL("attention_units_64_bf16", attention_units<bfloat, 64>)
INSTANTIATE_KERNEL("attention_units_128_bf16", attention_units<bfloat, 128>)
INSTANTIATE_KERNEL("attention_floats_64_f32", attention_floats<64>)
INSTANTIATE_KERNEL("attention_floats_128_f32", attention_floats<128>)
#define INSTANTIATE_WARPGROUPS(depth, simds)                                                       \
    INSTANTIATE_KERNEL("attention_warpgroups_" #depth "x" #simds "_f16",                           \
                       attention_warpgroups<half, depth, simds>)                                   \
    INSTANTIATE_KERNEL("attention_warpgroups_" #depth "x" #simds "_bf16",                          \
                       attention_warpgroups<bfloat, depth, simds>)
INSTANTIATE_WARPGROUPS(64, 8)
INSTANTIATE_WARPGROUPS(64, 12)
INSTANTIATE_WARPGROUPS(96, 8)
INSTANTIATE_WARPGROUPS(128, 8)
INSTANTIATE_WARPGROUPS(160, 8)
INSTANTIATE_WARPGROUPS(192, 8)
INSTANTIATE_WARPGROUPS(256, 8)
