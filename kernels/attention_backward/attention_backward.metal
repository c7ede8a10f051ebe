// The gradients of attention. Probabilities are computed again from q, k and the forward pass's log
// of sums (Dao et al. 2022); with d = dout . out the gradient of a score is p * (dout . v - d).
// Every result has one writer that sums in a fixed order: queries for dq, keys for dk and dv.
#include <metal_stdlib>
using namespace metal;
#include "common/attention_tiles.h"
#include "common/instantiate.h"

constant constexpr uint LANES = ATTENTION_LANES;

// delta[row] = dout . out, one SIMD-group to a row
template <typename T>
kernel void attention_delta(device const T *out [[buffer(0)]],
                            device const T *dout [[buffer(1)]],
                            device float *delta [[buffer(2)]],
                            constant attention_args &args [[buffer(3)]],
                            constant attention_backward_args &back [[buffer(4)]],
                            uint3 group [[threadgroup_position_in_grid]],
                            uint lane [[thread_index_in_simdgroup]]) {
    uint i = group.x, head = group.y, batch = group.z;
    out += attention_at(args.out_stride, batch, head, i);
    dout += attention_at(back.dout_stride, batch, head, i);
    float sum = 0.0f;
    for (uint d = lane; d < args.value_depth; d += LANES)
        sum = fma(float(out[d]), float(dout[d]), sum);
    sum = simd_sum(sum);
    if (lane == 0)
        delta[attention_row(args, batch, head, i)] = sum;
}
INSTANTIATE_FLOATS(attention_delta)

// dq: 32 queries, one to a lane, over all keys.
template <typename T, uint STEP>
kernel void attention_dq(device const T *q [[buffer(0)]],
                         device const T *k [[buffer(1)]],
                         device const T *v [[buffer(2)]],
                         device const T *dout [[buffer(3)]],
                         device const float *lse [[buffer(4)]],
                         device const float *delta [[buffer(5)]],
                         device const uchar *mask [[buffer(6)]],
                         device const float *slopes [[buffer(7)]],
                         device T *dq [[buffer(8)]],
                         constant attention_args &args [[buffer(9)]],
                         constant attention_backward_args &back [[buffer(10)]],
                         uint3 group [[threadgroup_position_in_grid]],
                         uint3 groups [[threadgroups_per_grid]],
                         uint lane [[thread_index_in_simdgroup]]) {
    typedef attention_rows<T> rows;
    threadgroup float stage[rows::staged];
    float query[ATTENTION_DEPTH], above[ATTENTION_DEPTH], sum[ATTENTION_DEPTH];
    float score[ATTENTION_BLOCK], change[ATTENTION_BLOCK];

    uint head = group.y, batch = group.z;
    uint first = (groups.x - 1 - group.x) * LANES; // those with most causal keys first
    uint last = min(first + LANES, args.queries) - 1;
    uint i = min(first + lane, last);
    q += attention_at(args.q_stride, batch, head, i);
    dout += attention_at(back.dout_stride, batch, head, i);
    k += attention_at(args.k_stride, batch, head / args.group, 0);
    v += attention_at(args.v_stride, batch, head / args.group, 0);
    float factor = args.scale * M_LOG2E_F;
    for (uint d = 0; d < args.depth; d++) {
        query[d] = float(q[d]) * factor;
        sum[d] = 0.0f;
    }
    for (uint d = 0; d < args.value_depth; d++)
        above[d] = float(dout[d]);

    ulong row = attention_row(args, batch, head, i);
    float base = lse[row] == -INFINITY ? 0.0f : lse[row] * M_LOG2E_F, total = delta[row];
    long mask_at = attention_at(args.mask_stride, batch, head, i);
    float slope = attention_slope(args, slopes, batch, head);
    int position = int(i + args.keys - args.queries);
    int lowest = position - args.left, highest = position + args.right;
    attention_range seen = attention_seen(args, first, last);
    attention_range inner = attention_seen(args, last, first);
    uint block = rows::block(max(args.depth, args.value_depth));
    long k_stride = rows::stride_of(args.k_stride[2], args.depth);
    long v_stride = rows::stride_of(args.v_stride[2], args.value_depth);
    for (uint t = seen.begin; t < seen.end; t += block) {
        uint count = min(block, seen.end - t);
        attention_scores<STEP>(above,
                               rows::bring(v + t * args.v_stride[2], args.v_stride[2],
                                           args.value_depth, count, lane, stage),
                               v_stride, args.value_depth, count, change);
        typename rows::pointer keys =
            rows::bring(k + t * args.k_stride[2], args.k_stride[2], args.depth, count, lane, stage);
        attention_scores<STEP>(query, keys, k_stride, args.depth, count, score);
        if (t < inner.begin || t + count > inner.end)
            for (uint j = 0; j < count; j++)
                score[j] = int(t + j) >= lowest && int(t + j) <= highest ? score[j] : -INFINITY;
        if (args.flags & ATTENTION_BIASED)
            for (uint j = 0; j < count; j++)
                score[j] += attention_bias<T>(args, mask, mask_at + (t + j) * args.mask_stride[3],
                                              slope, i, t + j);
        for (uint j = 0; j < count; j++)
            change[j] = exp2(score[j] - base) * (change[j] - total);
        attention_add<STEP>(sum, 1.0f, change, keys, k_stride, args.depth, count);
    }
    if (first + lane > last)
        return;
    dq += attention_at(back.dq_stride, batch, head, i);
    for (uint d = 0; d < args.depth; d++)
        dq[d] = T(sum[d] * args.scale);
}

// The same by simdgroup_matrix: ROWS * 8 queries to a SIMD-group.
template <typename T, uint DEPTH, uint ROWS>
kernel void attention_dq_tiles(device const T *q [[buffer(0)]],
                               device const T *k [[buffer(1)]],
                               device const T *v [[buffer(2)]],
                               device const T *dout [[buffer(3)]],
                               device const float *lse [[buffer(4)]],
                               device const float *delta [[buffer(5)]],
                               device const uchar *mask [[buffer(6)]],
                               device const float *slopes [[buffer(7)]],
                               device T *dq [[buffer(8)]],
                               constant attention_args &args [[buffer(9)]],
                               constant attention_backward_args &back [[buffer(10)]],
                               uint3 group [[threadgroup_position_in_grid]],
                               uint3 groups [[threadgroups_per_grid]],
                               uint simdgroup [[simdgroup_index_in_threadgroup]],
                               uint simdgroups [[simdgroups_per_threadgroup]],
                               uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint QUERIES = ROWS * 8, KEYS = ATTENTION_OTHERS;
    uint head = group.y, batch = group.z;
    uint block = (groups.x - 1 - group.x) * simdgroups + simdgroup;
    if (block * QUERIES >= args.queries)
        return;
    uint first = min(block * QUERIES, args.queries - QUERIES), last = first + QUERIES - 1;
    q += attention_at(args.q_stride, batch, head, first);
    dout += attention_at(back.dout_stride, batch, head, first);
    k += attention_at(args.k_stride, batch, head / args.group, 0);
    v += attention_at(args.v_stride, batch, head / args.group, 0);
    dq += attention_at(back.dq_stride, batch, head, first);

    attention_tile_sums<ROWS, DEPTH / 8> sum;
    attention_tile_sums<ROWS, ATTENTION_COLUMNS> score, change;
    float base[ROWS], total[ROWS], scales[ROWS];
    sum.clear();
    for (uint r = 0; r < ROWS; r++) {
        ulong row = attention_row(args, batch, head, first + 8 * r + tile_row(lane));
        base[r] = lse[row] == -INFINITY ? 0.0f : lse[row] * M_LOG2E_F;
        total[r] = delta[row];
        scales[r] = args.scale;
    }
    long mask_at = attention_at(args.mask_stride, batch, head, 0);
    float slope = attention_slope(args, slopes, batch, head);
    float factor = args.scale * M_LOG2E_F;
    attention_range seen = attention_seen(args, first, last);
    attention_range inner = attention_seen(args, last, first);
    for (uint at = seen.begin & ~(KEYS - 1); at < seen.end; at += KEYS) {
        uint t = min(at, args.keys - KEYS);
        bool partly = at != t || t < inner.begin || t + KEYS > inner.end;
        score.product(q, args.q_stride[2], k + t * args.k_stride[2], args.k_stride[2], args.depth);
        change.product(dout, back.dout_stride[2], v + t * args.v_stride[2], args.v_stride[2],
                       args.value_depth);
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            uint i = first + 8 * r + tile_row(lane);
            int position = int(i + args.keys - args.queries);
            int lowest = max(position - args.left, int(at)), highest = position + args.right;
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
                }
                score.tile[r][c].thread_elements() =
                    exp2(s - base[r]) * (change.tile[r][c].thread_elements() - total[r]);
            }
        }
        sum.add(score, k + t * args.k_stride[2], args.k_stride[2], args.depth);
    }
    sum.store(dq, back.dq_stride[2], args.depth, scales);
}

// The queries that see one of the keys first..last, and those that see all of them.
struct attention_queries {
    uint begin, end;
    int inner_begin, inner_end;
};
inline attention_queries attention_seen_by(constant attention_args &args, uint first, uint last) {
    int offset = int(args.keys) - int(args.queries);
    return {uint(max(int(first) - args.right - offset, 0)),
            uint(clamp(int(last) + args.left - offset + 1, 0, int(args.queries))),
            int(last) - args.right - offset, int(first) + args.left - offset + 1};
}

// dk and dv: 32 keys, one to a lane, over all queries of the heads that share them.
template <typename T, uint STEP>
kernel void attention_dkv(device const T *q [[buffer(0)]],
                          device const T *k [[buffer(1)]],
                          device const T *v [[buffer(2)]],
                          device const T *dout [[buffer(3)]],
                          device const float *lse [[buffer(4)]],
                          device const float *delta [[buffer(5)]],
                          device const uchar *mask [[buffer(6)]],
                          device const float *slopes [[buffer(7)]],
                          device T *dk [[buffer(8)]],
                          device T *dv [[buffer(9)]],
                          constant attention_args &args [[buffer(10)]],
                          constant attention_backward_args &back [[buffer(11)]],
                          uint3 group [[threadgroup_position_in_grid]],
                          uint lane [[thread_index_in_simdgroup]]) {
    typedef attention_rows<T> rows;
    threadgroup float stage[rows::staged];
    float key[ATTENTION_DEPTH], value[ATTENTION_DEPTH];
    float dkey[ATTENTION_DEPTH], dvalue[ATTENTION_DEPTH];
    float score[ATTENTION_BLOCK], change[ATTENTION_BLOCK];

    uint key_head = group.y, batch = group.z;
    uint first = group.x * LANES, last = min(first + LANES, args.keys) - 1;
    uint j = min(first + lane, last);
    k += attention_at(args.k_stride, batch, key_head, j);
    v += attention_at(args.v_stride, batch, key_head, j);
    float factor = args.scale * M_LOG2E_F;
    for (uint d = 0; d < args.depth; d++) {
        key[d] = float(k[d]) * factor;
        dkey[d] = 0.0f;
    }
    for (uint d = 0; d < args.value_depth; d++) {
        value[d] = float(v[d]);
        dvalue[d] = 0.0f;
    }

    int offset = int(args.keys) - int(args.queries);
    attention_queries seen = attention_seen_by(args, first, last);
    uint block = rows::block(max(args.depth, args.value_depth));
    long q_stride = rows::stride_of(args.q_stride[2], args.depth);
    long dout_stride = rows::stride_of(back.dout_stride[2], args.value_depth);
    for (uint head = key_head * args.group; head < (key_head + 1) * args.group; head++) {
        device const T *queries = q + attention_at(args.q_stride, batch, head, 0);
        device const T *above = dout + attention_at(back.dout_stride, batch, head, 0);
        ulong row = attention_row(args, batch, head, 0);
        long mask_at =
            batch * args.mask_stride[0] + head * args.mask_stride[1] + j * args.mask_stride[3];
        float slope = attention_slope(args, slopes, batch, head);
        for (uint t = seen.begin; t < seen.end; t += block) {
            uint count = min(block, seen.end - t);
            attention_scores<STEP>(key,
                                   rows::bring(queries + t * args.q_stride[2], args.q_stride[2],
                                               args.depth, count, lane, stage),
                                   q_stride, args.depth, count, score);
            if (int(t) < seen.inner_begin || int(t + count) > seen.inner_end)
                for (uint n = 0; n < count; n++) {
                    int position = int(t + n) + offset;
                    bool sees = int(j) >= position - args.left && int(j) <= position + args.right;
                    score[n] = sees ? score[n] : -INFINITY;
                }
            if (args.flags & ATTENTION_BIASED)
                for (uint n = 0; n < count; n++)
                    score[n] += attention_bias<T>(
                        args, mask, mask_at + (t + n) * args.mask_stride[2], slope, t + n, j);
            for (uint n = 0; n < count; n++) {
                float base = lse[row + t + n] == -INFINITY ? 0.0f : lse[row + t + n] * M_LOG2E_F;
                score[n] = exp2(score[n] - base);
            }
            typename rows::pointer gradients =
                rows::bring(above + t * back.dout_stride[2], back.dout_stride[2], args.value_depth,
                            count, lane, stage);
            attention_scores<STEP>(value, gradients, dout_stride, args.value_depth, count, change);
            attention_add<STEP>(dvalue, 1.0f, score, gradients, dout_stride, args.value_depth,
                                count);
            for (uint n = 0; n < count; n++)
                change[n] = score[n] * (change[n] - delta[row + t + n]);
            attention_add<STEP>(dkey, 1.0f, change,
                                rows::bring(queries + t * args.q_stride[2], args.q_stride[2],
                                            args.depth, count, lane, stage),
                                q_stride, args.depth, count);
        }
    }
    if (first + lane > last)
        return;
    dk += attention_at(back.dk_stride, batch, key_head, j);
    dv += attention_at(back.dv_stride, batch, key_head, j);
    for (uint d = 0; d < args.depth; d++)
        dk[d] = T(dkey[d] * args.scale);
    for (uint d = 0; d < args.value_depth; d++)
        dv[d] = T(dvalue[d]);
}

// The same by simdgroup_matrix: 8 keys to a SIMD-group, 32 queries at a time.
template <typename T, uint DEPTH>
kernel void attention_dkv_tiles(device const T *q [[buffer(0)]],
                                device const T *k [[buffer(1)]],
                                device const T *v [[buffer(2)]],
                                device const T *dout [[buffer(3)]],
                                device const float *lse [[buffer(4)]],
                                device const float *delta [[buffer(5)]],
                                device const uchar *mask [[buffer(6)]],
                                device const float *slopes [[buffer(7)]],
                                device T *dk [[buffer(8)]],
                                device T *dv [[buffer(9)]],
                                constant attention_args &args [[buffer(10)]],
                                constant attention_backward_args &back [[buffer(11)]],
                                uint3 group [[threadgroup_position_in_grid]],
                                uint simdgroup [[simdgroup_index_in_threadgroup]],
                                uint simdgroups [[simdgroups_per_threadgroup]],
                                uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint KEYS = 8, QUERIES = ATTENTION_OTHERS;
    uint key_head = group.y, batch = group.z, block = group.x * simdgroups + simdgroup;
    if (block * KEYS >= args.keys)
        return;
    uint first = min(block * KEYS, args.keys - KEYS), last = first + KEYS - 1;
    uint j = first + tile_row(lane);
    k += attention_at(args.k_stride, batch, key_head, first);
    v += attention_at(args.v_stride, batch, key_head, first);
    dk += attention_at(back.dk_stride, batch, key_head, first);
    dv += attention_at(back.dv_stride, batch, key_head, first);

    attention_tile_sums<1, DEPTH / 8> dkey, dvalue;
    attention_tile_sums<1, ATTENTION_COLUMNS> score, change;
    dkey.clear();
    dvalue.clear();
    attention_queries seen = attention_seen_by(args, first, last);
    float factor = args.scale * M_LOG2E_F;
    for (uint head = key_head * args.group; head < (key_head + 1) * args.group; head++) {
        device const T *queries = q + attention_at(args.q_stride, batch, head, 0);
        device const T *above = dout + attention_at(back.dout_stride, batch, head, 0);
        ulong row = attention_row(args, batch, head, 0);
        long mask_at =
            batch * args.mask_stride[0] + head * args.mask_stride[1] + j * args.mask_stride[3];
        float slope = attention_slope(args, slopes, batch, head);
        for (uint at = seen.begin & ~(QUERIES - 1); at < seen.end; at += QUERIES) {
            uint t = min(at, args.queries - QUERIES);
            bool partly =
                at != t || int(t) < seen.inner_begin || int(t + QUERIES) > seen.inner_end;
            device const T *rows = queries + t * args.q_stride[2];
            device const T *gradients = above + t * back.dout_stride[2];
            score.product(k, args.k_stride[2], rows, args.q_stride[2], args.depth);
            change.product(v, args.v_stride[2], gradients, back.dout_stride[2], args.value_depth);
#pragma unroll
            for (uint c = 0; c < ATTENTION_COLUMNS; c++) {
                float2 s = score.tile[0][c].thread_elements() * factor;
                float2 ds = change.tile[0][c].thread_elements();
#pragma unroll
                for (uint e = 0; e < 2; e++) {
                    uint i = t + 8 * c + tile_column(lane) + e;
                    float x = s[e], sums = lse[row + i];
                    if (args.flags & ATTENTION_BIASED)
                        x += attention_bias<T>(args, mask, mask_at + i * args.mask_stride[2], slope,
                                               i, j);
                    if (partly) {
                        int position = int(i + args.keys - args.queries);
                        bool sees = i >= at && int(j) >= position - args.left &&
                                    int(j) <= position + args.right;
                        x = sees ? x : -INFINITY;
                    }
                    x = exp2(x - (sums == -INFINITY ? 0.0f : sums * M_LOG2E_F));
                    s[e] = x;
                    ds[e] = x * (ds[e] - delta[row + i]);
                }
                score.tile[0][c].thread_elements() = s;
                change.tile[0][c].thread_elements() = ds;
            }
            dvalue.add(score, gradients, back.dout_stride[2], args.value_depth);
            dkey.add(change, rows, args.q_stride[2], args.depth);
        }
    }
    float one[1] = {1.0f}, scale[1] = {args.scale};
    dvalue.store(dv, back.dv_stride[2], args.value_depth, one);
    dkey.store(dk, back.dk_stride[2], args.depth, scale);
}

#include "attention_backward/attention_backward_blocks.h"
#include "attention_backward/attention_backward_floats.h"

#define INSTANTIATE_STEP(step, name, type)                                                         \
    INSTANTIATE_KERNEL("attention_dq_" #step "_" #name, attention_dq<type, step>)                  \
    INSTANTIATE_KERNEL("attention_dkv_" #step "_" #name, attention_dkv<type, step>)
#define INSTANTIATE_TYPES(step)                                                                    \
    INSTANTIATE_STEP(step, f32, float)                                                             \
    INSTANTIATE_STEP(step, f16, half)                                                              \
    INSTANTIATE_STEP(step, bf16, bfloat)
INSTANTIATE_TYPES(2)
INSTANTIATE_TYPES(4)
INSTANTIATE_TYPES(8)

#define INSTANTIATE_TILES(depth, rows, name, type)                                                 \
    INSTANTIATE_KERNEL("attention_dq_tiles_" #depth "_" #name,                                     \
                       attention_dq_tiles<type, depth, rows>)                                      \
    INSTANTIATE_KERNEL("attention_dkv_tiles_" #depth "_" #name, attention_dkv_tiles<type, depth>)
#define INSTANTIATE_DEPTH(depth, rows)                                                             \
    INSTANTIATE_TILES(depth, rows, f32, float)                                                     \
    INSTANTIATE_TILES(depth, rows, f16, half)                                                      \
    INSTANTIATE_TILES(depth, rows, bf16, bfloat)
INSTANTIATE_DEPTH(64, 2)
INSTANTIATE_DEPTH(128, 2)
INSTANTIATE_DEPTH(256, 1)

/* Elements of a row; SIMD-groups; others at a time; own queries, own keys in registers. */
#define INSTANTIATE_GRADIENTS(depth, simds, others, queries, keys)                                 \
    INSTANTIATE_KERNEL("attention_gradients_" #depth "x" #simds "_f16",                            \
                       attention_gradients<half, simds, depth, others, queries, keys>)             \
    INSTANTIATE_KERNEL("attention_gradients_" #depth "x" #simds "_bf16",                           \
                       attention_gradients<bfloat, simds, depth, others, queries, keys>)
INSTANTIATE_GRADIENTS(64, 8, 64, true, true)
INSTANTIATE_GRADIENTS(96, 8, 64, true, false)
INSTANTIATE_GRADIENTS(128, 8, 64, true, false)
INSTANTIATE_GRADIENTS(192, 8, 64, false, false)
INSTANTIATE_GRADIENTS(256, 8, 32, false, false)
INSTANTIATE_FLOATS(attention_gradient_stats)
INSTANTIATE_KERNEL("attention_gradients_64_f32", attention_gradients_floats<64>)
INSTANTIATE_KERNEL("attention_gradients_128_f32", attention_gradients_floats<128>)
