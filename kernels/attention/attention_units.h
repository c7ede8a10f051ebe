/*
 * Attention of bfloat on CPUs with matrix units (x86-64-v4-bf16-amx) or instructions for matrices
 * (aarch64-bf16). A SIMD-group has 32 queries, a query to a lane where it is not tiles: keys times
 * queries makes scores of which a line is one key, so that the softmax of a query stays in its
 * lane; its weights, two keys to a word, are the right side of the product with the values; sums
 * are kept as [value][query].
 *
 * Keys, and values turned, are laid out anew once for all queries, with zeros up to whole blocks.
 */
#ifndef INGOT_KERNELS_ATTENTION_UNITS_H
#define INGOT_KERNELS_ATTENTION_UNITS_H

#include "attention/attention_sizes.h"
#include "common/attention_lanes.h"
#include "common/tile_units.h"

static_assert(UNIT_SIDE == ATTENTION_LANES, "a query to a lane");
constant constexpr uint UNIT_KEYS = ATTENTION_UNIT_KEYS;

/* Keys that are laid out. */
inline uint unit_keys(constant attention_args &args) {
    return (args.keys + (UNIT_KEYS - 1)) / UNIT_KEYS * UNIT_KEYS;
}

/* [batch][head of k][keys][depth], and [batch][head][value_depth][keys]; a SIMD-group has UNIT_KEYS
 * keys. */
template <typename T>
kernel void attention_units_pack(device const T *k [[buffer(0)]], device const T *v [[buffer(1)]],
                                 device T *keys [[buffer(2)]], device T *values [[buffer(3)]],
                                 constant attention_args &args [[buffer(4)]],
                                 uint3 group [[threadgroup_position_in_grid]],
                                 uint3 groups [[threadgroups_per_grid]],
                                 uint lane [[thread_index_in_simdgroup]]) {
    uint padded = unit_keys(args), first = group.x * UNIT_KEYS;
    ulong matrix = ulong(group.z) * groups.y + group.y;
    k += attention_at(args.k_stride, group.z, group.y, first);
    v += attention_at(args.v_stride, group.z, group.y, first);
    keys += (matrix * padded + first) * args.depth;
    values += matrix * padded * args.value_depth + first;
    uint count = min(args.keys - first, UNIT_KEYS);
#pragma clang loop unroll(disable)
    for (uint j = 0; j < UNIT_KEYS; j++) {
#pragma clang loop unroll(disable)
        for (uint d = lane; d < args.depth; d += ATTENTION_LANES) {
            keys[j * args.depth + d] = j < count ? k[j * args.k_stride[2] + d] : T(0);
        }
    }
#pragma clang loop unroll(disable)
    for (uint j = 0; j < UNIT_KEYS; j += TILE) {
        if (j + TILE <= count) {
#pragma clang loop unroll(disable)
            for (uint d = 0; d < args.value_depth; d += TILE) {
                simdgroup_matrix<T, 8, 8> tile;
                simdgroup_load(tile, v + j * args.v_stride[2] + d, args.v_stride[2], ulong2(0),
                               true);
                simdgroup_store(tile, values + d * ulong(padded) + j, padded);
            }
            continue;
        }
#pragma clang loop unroll(disable)
        for (uint d = lane; d < args.value_depth; d += ATTENTION_LANES) {
#pragma clang loop unroll(disable)
            for (uint i = j; i < j + TILE; i++) {
                values[d * ulong(padded) + i] = i < count ? v[i * args.v_stride[2] + d] : T(0);
            }
        }
    }
}

/* 32 lines of 32 queries. `anew`: from zero. */
template <bool ANEW, typename T>
inline void product_by_units(threadgroup float *to, device const T *left, ulong stride,
                             threadgroup const T *right, uint depth) {
    simdgroup_float8x8 sum[UNIT_TILES][UNIT_TILES];
#pragma unroll
    for (uint i = 0; i < UNIT_TILES; i++)
#pragma unroll
        for (uint j = 0; j < UNIT_TILES; j++) {
            if (ANEW) {
                sum[i][j] = simdgroup_float8x8(0.0f);
            } else {
                simdgroup_load(sum[i][j], to + i * TILE * UNIT_SIDE + j * TILE, UNIT_SIDE);
            }
        }
    add_by_units<1, T>(sum, left, stride, right, depth);
#pragma unroll
    for (uint i = 0; i < UNIT_TILES; i++)
#pragma unroll
        for (uint j = 0; j < UNIT_TILES; j++) {
            simdgroup_store(sum[i][j], to + i * TILE * UNIT_SIDE + j * TILE, UNIT_SIDE);
        }
}

template <typename T> inline uint as_pair(T low, T high) {
    return uint(as_type<ushort>(low)) | uint(as_type<ushort>(high)) << 16;
}

/* Two weights as bfloat, rounded to nearest; NaN stays NaN as long as it has a bit in the upper
 * half, as all of products do. */
inline uint as_weights(float low, float high) {
    uint a = as_type<uint>(low), b = as_type<uint>(high);
    a += 0x7fffu + (a >> 16 & 1u);
    b += 0x7fffu + (b >> 16 & 1u);
    return a >> 16 | (b & 0xffff0000u);
}

/* Rows of queries become [depth / 2][query][2]. */
template <typename T>
inline void bring_queries(threadgroup uint *to, device const T *q, long stride, uint depth,
                          uint count, uint lane) {
    if (count == ATTENTION_LANES && stride % 2 == 0 && ulong(q) % 4 == 0) {
        device const float *words = (device const float *)q;
#pragma clang loop unroll(disable)
        for (uint d = 0; d < depth / 2; d += TILE)
#pragma unroll
            for (uint r = 0; r < ATTENTION_LANES; r += TILE) {
                simdgroup_float8x8 tile;
                simdgroup_load(tile, words + r * (stride / 2) + d, stride / 2, ulong2(0), true);
                simdgroup_store(tile, (threadgroup float *)to + d * ATTENTION_LANES + r,
                                ATTENTION_LANES);
            }
        return;
    }
    q += min(lane, count - 1) * stride;
    for (uint d = 0; d < depth; d += 2) {
        to[d / 2 * ATTENTION_LANES + lane] = as_pair(q[d], q[d + 1]);
    }
}

/* What a lane knows of its query. */
struct unit_softmax {
    int lowest, highest; /* keys that it sees */
    float factor, largest, total;

    /* Scores of UNIT_KEYS keys, from `first` on, become weights, two to a word, in their place;
     * what was summed before is to be multiplied by the result. */
    float weigh(threadgroup float *scores, uint first, bool all, uint lane) thread {
        threadgroup float *own = scores + lane;
        if (!all) {
#pragma clang loop unroll(disable)
            for (uint j = 0; j < UNIT_KEYS; j++) {
                int key = int(first + j);
                threadgroup float *score = own + j * ATTENTION_LANES;
                *score = key >= lowest && key <= highest ? *score : -INFINITY;
            }
        }
        float4 most = float4(-INFINITY);
        for (uint j = 0; j < UNIT_KEYS; j += 4) {
#pragma unroll
            for (uint i = 0; i < 4; i++) {
                float score = own[(j + i) * ATTENTION_LANES];
                most[i] = score > most[i] ? score : most[i];
            }
        }
        float top = max(largest, max(max(most.x, most.y), max(most.z, most.w)) * factor);
        float base = top == -INFINITY ? 0.0f : top;
        float correction = fast::exp2(largest - base), part = 0.0f;
        threadgroup uint *weights = (threadgroup uint *)own;
        for (uint j = 0; j < UNIT_KEYS; j += 2) {
            float p0 = fast::exp2(fma(own[j * ATTENTION_LANES], factor, -base));
            float p1 = fast::exp2(fma(own[(j + 1) * ATTENTION_LANES], factor, -base));
            part += p0 + p1;
            weights[j / 2 * ATTENTION_LANES] = as_weights(p0, p1);
        }
        total = total * correction + part;
        largest = top;
        return correction;
    }
};

/* depth and value_depth are multiples of 32, up to DEPTH; there is no mask and no ALiBi, and the
 * scale is above 0. */
template <typename T, uint DEPTH>
kernel void
attention_units(device const T *q [[buffer(0)]], device const T *keys [[buffer(1)]],
                device const T *values [[buffer(2)]], device T *out [[buffer(3)]],
                device float *lse [[buffer(4)]], constant attention_args &args [[buffer(5)]],
                uint3 group [[threadgroup_position_in_grid]],
                uint3 groups [[threadgroups_per_grid]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup uint query[DEPTH / 2 * ATTENTION_LANES];
    threadgroup float scores[UNIT_KEYS * ATTENTION_LANES], sum[DEPTH * ATTENTION_LANES];
    uint head = group.y, batch = group.z, padded = unit_keys(args);
    uint first = (groups.x - 1 - group.x) * ATTENTION_LANES; // those with most causal keys first
    uint last = min(first + ATTENTION_LANES, args.queries) - 1, i = min(first + lane, last);
    ulong matrix = ulong(batch) * (args.heads / args.group) + head / args.group;
    keys += matrix * padded * args.depth;
    values += matrix * padded * args.value_depth;
    q += attention_at(args.q_stride, batch, head, first);
    bring_queries(query, q, args.q_stride[2], args.depth, last + 1 - first, lane);
    for (uint d = 0; d < args.value_depth; d++) {
        sum[d * ATTENTION_LANES + lane] = 0;
    }
    int position = int(i + args.keys - args.queries);
    unit_softmax softmax = {position - args.left, min(position + args.right, int(args.keys) - 1),
                            args.scale * M_LOG2E_F, -INFINITY, 0.0f};
    attention_range seen = attention_seen(args, first, last);
    attention_range inner = attention_seen(args, last, first);
    for (uint t = seen.begin / UNIT_KEYS * UNIT_KEYS; t < seen.end; t += UNIT_KEYS) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < UNIT_KEYS; j += UNIT_SIDE) {
            product_by_units<true>(scores + j * ATTENTION_LANES, keys + ulong(t + j) * args.depth,
                                   args.depth, (threadgroup const T *)query, args.depth);
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        float correction =
            softmax.weigh(scores, t, t >= inner.begin && t + UNIT_KEYS <= inner.end, lane);
        if (simd_any(correction != 1.0f)) {
            for (uint d = 0; d < args.value_depth; d++) {
                sum[d * ATTENTION_LANES + lane] *= correction;
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint d = 0; d < args.value_depth; d += UNIT_SIDE) {
            product_by_units<false>(sum + d * ATTENTION_LANES, values + d * ulong(padded) + t,
                                    padded, (threadgroup const T *)scores, UNIT_KEYS);
        }
    }
    // a query that sees nothing gets 0, and -infinity as the logarithm of its sum
    float total = softmax.total, inverse = total == 0.0f ? 0.0f : 1.0f / total;
    simdgroup_barrier(mem_flags::mem_threadgroup);
    for (uint d = 0; d < args.value_depth; d++) {
        sum[d * ATTENTION_LANES + lane] *= inverse;
    }
    simdgroup_barrier(mem_flags::mem_threadgroup);
    out += attention_at(args.out_stride, batch, head, first);
    uint count = last + 1 - first;
#pragma clang loop unroll(disable)
    for (uint r = 0; r < count; r += TILE) {
#pragma clang loop unroll(disable)
        for (uint d = 0; r + TILE <= count && d < args.value_depth; d += TILE) {
            simdgroup_float8x8 tile;
            simdgroup_matrix<T, 8, 8> result;
            simdgroup_load(tile, sum + d * ATTENTION_LANES + r, ATTENTION_LANES, ulong2(0), true);
            result.thread_elements() = vec<T, 2>(tile.thread_elements());
            simdgroup_store(result, out + r * args.out_stride[2] + d, args.out_stride[2]);
        }
    }
    if (lane >= count) {
        return;
    }
    if (lane >= count / TILE * TILE) {
        for (uint d = 0; d < args.value_depth; d++) {
            out[lane * args.out_stride[2] + d] = T(sum[d * ATTENTION_LANES + lane]);
        }
    }
    if (args.flags & ATTENTION_LSE) {
        lse[attention_row(args, batch, head, i)] =
            total == 0.0f ? -INFINITY : (softmax.largest + log2(total)) * M_LN2_F;
    }
}

#endif
