// Attention for few queries, in two phases: a SIMD-group takes one partition of the keys of one
// key head for up to ROWS rows (queries of the heads that share the key head), so that keys and
// values are read once for all of them; then the partitions' results are put together.
//
// Lanes lie along the rows of q, k and v: lane l has elements l, l + 32, and so on. `partial` is
// [rows, partitions, value_depth]; `extremes`, [rows, partitions], has maximum and sum of each.
#include <metal_stdlib>
using namespace metal;
#include "common/attention_lanes.h"
#include "common/instantiate.h"

constant constexpr uint LANES = ATTENTION_LANES;
constant bool decode_paged [[function_constant(0)]];  // of the two kernels for GPUs
constant bool decode_biased [[function_constant(1)]]; // there is a mask, or ALiBi: of the tiles only

// The row of a key in k or v, or in a paged cache.
template <typename T>
inline device const T *row_of(device const T *cache, constant attention_args &args, bool paged,
                              constant const int64_t *stride, device const int *table, uint key) {
    if (paged) {
        uint block = key / args.block;
        uint number = min(uint(table[block]), args.blocks - 1); // never outside the cache
        return cache + number * stride[0] + (key - block * args.block) * stride[2];
    }
    return cache + key * stride[2];
}

template <typename T, uint SLICES, uint ROWS>
kernel void attention_decode(device const T *q [[buffer(0)]],
                             device const T *k [[buffer(1)]],
                             device const T *v [[buffer(2)]],
                             device T *out [[buffer(3)]],
                             device float *lse [[buffer(4)]],
                             device const uchar *mask [[buffer(5)]],
                             device const float *slopes [[buffer(6)]],
                             device const int *tables [[buffer(7)]],
                             device const int *lengths [[buffer(8)]],
                             device float *partial [[buffer(9)]],
                             device float2 *extremes [[buffer(10)]],
                             constant attention_args &args [[buffer(11)]],
                             uint3 group [[threadgroup_position_in_grid]],
                             uint3 groups [[threadgroups_per_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float weight[ROWS][LANES];
    uint rows = args.group * args.queries;
    uint row_groups = (rows + ROWS - 1) / ROWS;
    uint batch = group.z, key_head = group.y / row_groups, first_row = group.y % row_groups * ROWS;
    uint keys = args.keys;
    if (args.flags & ATTENTION_PAGED) {
        keys = uint(clamp(lengths[batch], 0, int(args.keys)));
        tables += ulong(batch) * args.max_blocks;
        k += key_head * args.k_stride[1];
        v += key_head * args.v_stride[1];
    } else {
        k += attention_at(args.k_stride, batch, key_head, 0);
        v += attention_at(args.v_stride, batch, key_head, 0);
    }

    float query[ROWS][SLICES], sum[ROWS][SLICES], largest[ROWS], total[ROWS];
    float factor = args.scale * M_LOG2E_F;
    int lowest = ATTENTION_NO_LIMIT, highest = -1; // seen by any row
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        uint row = min(first_row + r, rows - 1);
        uint i = row % args.queries, head = key_head * args.group + row / args.queries;
        device const T *from = q + attention_at(args.q_stride, batch, head, i);
        int position = int(i + keys - args.queries);
        lowest = min(lowest, position - args.left);
        highest = max(highest, position + args.right);
#pragma unroll
        for (uint s = 0; s < SLICES; s++) {
            uint d = s * LANES + lane;
            query[r][s] = d < args.depth ? float(from[d]) * factor : 0.0f;
            sum[r][s] = 0.0f;
        }
        largest[r] = -INFINITY;
        total[r] = 0.0f;
    }
    uint slices = (args.depth + LANES - 1) / LANES;
    uint value_slices = (args.value_depth + LANES - 1) / LANES;
    int begin = max(int(group.x * args.partition), lowest);
    int end = min(min(int(group.x * args.partition + args.partition), int(keys)), highest + 1);

    for (int t = begin; t < end; t += LANES) {
        uint count = min(LANES, uint(end - t));
        float score[ROWS];
#pragma unroll
        for (uint r = 0; r < ROWS; r++)
            score[r] = 0.0f;
        for (uint j = 0; j < count; j++) {
            device const T *row = row_of(k, args, args.flags & ATTENTION_PAGED, args.k_stride,
                                         tables, uint(t) + j);
            float part[ROWS];
#pragma unroll
            for (uint r = 0; r < ROWS; r++)
                part[r] = 0.0f;
#pragma unroll
            for (uint s = 0; s < SLICES; s++) {
                uint d = s * LANES + lane;
                if (s < slices) {
                    float x = d < args.depth ? float(row[d]) : 0.0f;
#pragma unroll
                    for (uint r = 0; r < ROWS; r++)
                        part[r] = fma(query[r][s], x, part[r]);
                }
            }
#pragma unroll
            for (uint r = 0; r < ROWS; r++) {
                float dot = simd_sum(part[r]);
                score[r] = lane == j ? dot : score[r];
            }
        }
        int key = t + int(lane);
        float correction[ROWS];
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            uint row = min(first_row + r, rows - 1);
            uint i = row % args.queries, head = key_head * args.group + row / args.queries;
            int position = int(i + keys - args.queries);
            bool seen = lane < count && key >= position - args.left && key <= position + args.right;
            float s = score[r];
            if (args.flags & ATTENTION_ALIBI)
                s -= attention_slope(args, slopes, batch, head) * M_LOG2E_F *
                     abs(float(position - key));
            if (args.flags & (ATTENTION_MASK_BOOL | ATTENTION_MASK_F32 | ATTENTION_MASK_SAME)) {
                long at = batch * args.mask_stride[0] + head * args.mask_stride[1] +
                          i * args.mask_stride[2] + key * args.mask_stride[3];
                if (lane >= count)
                    at = 0;
                if (args.flags & ATTENTION_MASK_BOOL)
                    seen = seen && mask[at];
                else if (args.flags & ATTENTION_MASK_F32)
                    s = fma(((device const float *)mask)[at], M_LOG2E_F, s);
                else
                    s = fma(float(((device const T *)mask)[at]), M_LOG2E_F, s);
            }
            s = seen ? s : -INFINITY;
            float top = max(largest[r], simd_max(s));
            float base = top == -INFINITY ? 0.0f : top;
            float p = exp2(s - base);
            correction[r] = exp2(largest[r] - base);
            total[r] = total[r] * correction[r] + simd_sum(p);
            largest[r] = top;
            weight[r][lane] = p;
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll
        for (uint s = 0; s < SLICES; s++) {
            if (s < value_slices) {
                uint d = s * LANES + lane;
                float part[ROWS];
#pragma unroll
                for (uint r = 0; r < ROWS; r++)
                    part[r] = sum[r][s] * correction[r];
                for (uint j = 0; j < count; j++) {
                    device const T *row = row_of(v, args, args.flags & ATTENTION_PAGED, args.v_stride,
                                             tables, uint(t) + j);
                    float x = d < args.value_depth ? float(row[d]) : 0.0f;
#pragma unroll
                    for (uint r = 0; r < ROWS; r++)
                        part[r] = fma(weight[r][j], x, part[r]);
                }
#pragma unroll
                for (uint r = 0; r < ROWS; r++)
                    sum[r][s] = part[r];
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
    }

#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        uint row = first_row + r;
        if (row < rows) {
            uint i = row % args.queries, head = key_head * args.group + row / args.queries;
            ulong index = attention_row(args, batch, head, i);
            bool whole = args.partitions == 1;
            float inverse = !whole ? 1.0f : total[r] == 0.0f ? 0.0f : 1.0f / total[r];
            device T *to = out + attention_at(args.out_stride, batch, head, i);
            ulong part = index * args.partitions + group.x;
#pragma unroll
            for (uint s = 0; s < SLICES; s++) {
                uint d = s * LANES + lane;
                if (d < args.value_depth) {
                    if (whole)
                        to[d] = T(sum[r][s] * inverse);
                    else
                        partial[part * args.value_depth + d] = sum[r][s];
                }
            }
            if (lane == 0 && !whole)
                extremes[part] = float2(largest[r], total[r]);
            if (lane == 0 && whole && (args.flags & ATTENTION_LSE))
                lse[index] = total[r] == 0.0f ? -INFINITY : (largest[r] + log2(total[r])) * M_LN2_F;
        }
    }
}

#include "attention_decode/attention_decode_tiles.h"
#include "attention_decode/attention_decode_wide.h"

// `count` parts, all of them on their way at once; the rest repeats the last or is left alone.
inline void load_parts(thread float *part, device const float *from, uint stride, uint count) {
#pragma unroll
    for (uint n = 0; n < LANES; n++)
        if (n < LANES / 2 || count > LANES / 2)
            part[n] = from[min(n, count - 1) * stride];
}
// Parts times the weights that the lanes have of them, added to sum.
inline float add_parts(float sum, thread const float *part, float weight, uint count) {
#pragma unroll
    for (uint n = 0; n < LANES; n++)
        if (n < LANES / 2 || count > LANES / 2) {
            const float next = fma(part[n], simd_shuffle(weight, ushort(n)), sum);
            sum = n < count ? next : sum;
        }
    return sum;
}

// A threadgroup to a row: the partitions' sums, each corrected by its maximum. A thread has every
// `threads`-th column.
template <typename T>
kernel void attention_reduce(device T *out [[buffer(0)]],
                             device float *lse [[buffer(1)]],
                             device const float *partial [[buffer(2)]],
                             device const float2 *extremes [[buffer(3)]],
                             constant attention_args &args [[buffer(4)]],
                             uint3 group [[threadgroup_position_in_grid]],
                             uint me [[thread_index_in_threadgroup]],
                             uint threads [[threads_per_threadgroup]],
                             uint lane [[thread_index_in_simdgroup]]) {
    uint i = group.x, head = group.y, batch = group.z;
    ulong index = attention_row(args, batch, head, i);
    partial += index * args.partitions * args.value_depth;
    extremes += index * args.partitions;
    // on GPUs the parts of a thread's first column are on their way while their weights are found
    const bool early = threads > LANES && args.partitions <= LANES;
    float part[LANES] = {0};
    if (early)
        load_parts(part, partial + min(me, args.value_depth - 1), args.value_depth, args.partitions);
    const float2 first = lane < args.partitions ? extremes[lane] : float2(-INFINITY, 0.0f);
    float largest = first.x;
    for (uint p = LANES + lane; p < args.partitions; p += LANES)
        largest = max(largest, extremes[p].x);
    largest = simd_max(largest);
    const float base = largest == -INFINITY ? 0.0f : largest;
    const float first_weight = exp2(first.x - base);
    float total = first.y * first_weight;
    for (uint p = LANES + lane; p < args.partitions; p += LANES)
        total += extremes[p].y * exp2(extremes[p].x - base);
    total = simd_sum(total);
    float inverse = total == 0.0f ? 0.0f : 1.0f / total;
    out += attention_at(args.out_stride, batch, head, i);
    const uint columns = (args.value_depth + LANES - 1) / LANES * LANES;
    for (uint column = me; column < columns; column += threads) {
        const uint d = min(column, args.value_depth - 1);
        float sum = 0.0f;
        for (uint p = 0; p < args.partitions; p += LANES) {
            device const float *from = partial + ulong(p) * args.value_depth + d;
            const uint count = min(LANES, args.partitions - p);
            const float weight =
                p ? exp2(extremes[p + min(lane, count - 1)].x - base) : first_weight;
            if (count == LANES || threads > LANES) {
                if (!early || column != me)
                    load_parts(part, from, args.value_depth, count);
                sum = add_parts(sum, part, weight, count);
            } else {
                for (uint n = 0; n < count; n++)
                    sum = fma(from[n * args.value_depth], simd_shuffle(weight, ushort(n)), sum);
            }
        }
        if (column < args.value_depth)
            out[column] = T(sum * inverse);
    }
    if (me == 0 && (args.flags & ATTENTION_LSE))
        lse[index] = total == 0.0f ? -INFINITY : (largest + log2(total)) * M_LN2_F;
}
INSTANTIATE_FLOATS(attention_reduce)

// The same by REDUCE_SIMDS SIMD-groups, for GPUs: each takes every so many partitions, whose weights
// are found for a block of them at a time.
constant constexpr uint REDUCE_SIMDS = 4, REDUCE_THREADS = REDUCE_SIMDS * LANES;
constant constexpr uint REDUCE_COLUMNS = ATTENTION_DEPTH / LANES;

template <typename T>
[[max_total_threads_per_threadgroup(REDUCE_THREADS)]] kernel void
attention_reduce_wide(device T *out [[buffer(0)]], device float *lse [[buffer(1)]],
                      device const float *partial [[buffer(2)]],
                      device const float2 *extremes [[buffer(3)]],
                      constant attention_args &args [[buffer(4)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint me [[thread_index_in_threadgroup]],
                      uint simd [[simdgroup_index_in_threadgroup]],
                      uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float weights[REDUCE_THREADS], sums[REDUCE_SIMDS][ATTENTION_DEPTH];
    threadgroup float2 ends[REDUCE_SIMDS];
    const uint i = group.x, head = group.y, batch = group.z;
    const ulong index = attention_row(args, batch, head, i);
    partial += index * args.partitions * args.value_depth;
    extremes += index * args.partitions;
    float2 own = float2(-INFINITY, 0.0f); // the largest of what the thread sees, and its sum
    for (uint p = me; p < args.partitions; p += REDUCE_THREADS) {
        const float2 next = extremes[p];
        const float top = max(own.x, next.x), base = top == -INFINITY ? 0.0f : top;
        own = float2(top, own.y * fast::exp2(own.x - base) + next.y * fast::exp2(next.x - base));
    }
    const float largest_here = simd_max(own.x);
    const float here = largest_here == -INFINITY ? 0.0f : largest_here;
    const float total_here = simd_sum(own.y * fast::exp2(own.x - here));
    if (lane == 0)
        ends[simd] = float2(largest_here, total_here);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float largest = -INFINITY, total = 0.0f;
    for (uint s = 0; s < REDUCE_SIMDS; s++)
        largest = max(largest, ends[s].x);
    const float base = largest == -INFINITY ? 0.0f : largest;
    for (uint s = 0; s < REDUCE_SIMDS; s++)
        total += ends[s].y * fast::exp2(ends[s].x - base);

    float sum[REDUCE_COLUMNS];
#pragma unroll
    for (uint c = 0; c < REDUCE_COLUMNS; c++)
        sum[c] = 0.0f;
    for (uint first = 0; first < args.partitions; first += REDUCE_THREADS) {
        const uint count = min(args.partitions - first, REDUCE_THREADS);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        weights[me] = me < count ? fast::exp2(extremes[first + me].x - base) : 0.0f;
        threadgroup_barrier(mem_flags::mem_threadgroup);
#pragma unroll 4
        for (uint p = simd; p < count; p += REDUCE_SIMDS) {
            const float weight = weights[p];
            device const float *from = partial + ulong(first + p) * args.value_depth + lane;
#pragma unroll
            for (uint c = 0; c < REDUCE_COLUMNS; c++)
                if (c * LANES + lane < args.value_depth)
                    sum[c] = fma(weight, from[c * LANES], sum[c]);
        }
    }
#pragma unroll
    for (uint c = 0; c < REDUCE_COLUMNS; c++)
        sums[simd][c * LANES + lane] = sum[c];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    const float inverse = total == 0.0f ? 0.0f : 1.0f / total;
    out += attention_at(args.out_stride, batch, head, i);
    for (uint d = me; d < args.value_depth; d += REDUCE_THREADS) {
        float all = 0.0f;
        for (uint s = 0; s < REDUCE_SIMDS; s++)
            all += sums[s][d];
        out[d] = T(all * inverse);
    }
    if (me == 0 && (args.flags & ATTENTION_LSE))
        lse[index] = total == 0.0f ? -INFINITY : (largest + log2(total)) * M_LN2_F;
}
INSTANTIATE_FLOATS(attention_reduce_wide)

#define INSTANTIATE_DECODE(slices, rows)                                                           \
    INSTANTIATE_KERNEL("attention_decode_" #slices "_" #rows "_f32",                               \
                       attention_decode<float, slices, rows>)                                      \
    INSTANTIATE_KERNEL("attention_decode_" #slices "_" #rows "_f16",                               \
                       attention_decode<half, slices, rows>)                                       \
    INSTANTIATE_KERNEL("attention_decode_" #slices "_" #rows "_bf16",                              \
                       attention_decode<bfloat, slices, rows>)
#define INSTANTIATE_ROWS(slices)                                                                   \
    INSTANTIATE_DECODE(slices, 1)                                                                  \
    INSTANTIATE_DECODE(slices, 4)                                                                  \
    INSTANTIATE_DECODE(slices, 8)
INSTANTIATE_ROWS(4)
INSTANTIATE_ROWS(8)

#define INSTANTIATE_WIDE(depth, rows)                                                              \
    INSTANTIATE_KERNEL("attention_decode_wide_" #depth "_" #rows "_f32",                           \
                       attention_decode_wide<float, depth, rows, 4>)                               \
    INSTANTIATE_KERNEL("attention_decode_wide_" #depth "_" #rows "_f16",                           \
                       attention_decode_wide<half, depth, rows, 4>)                                \
    INSTANTIATE_KERNEL("attention_decode_wide_" #depth "_" #rows "_bf16",                          \
                       attention_decode_wide<bfloat, depth, rows, 4>)
INSTANTIATE_WIDE(64, 1)
INSTANTIATE_WIDE(64, 4)
INSTANTIATE_WIDE(64, 8)
INSTANTIATE_WIDE(128, 1)
INSTANTIATE_WIDE(128, 4)
INSTANTIATE_WIDE(128, 8)

#define INSTANTIATE_TILES(depth, rows)                                                             \
    INSTANTIATE_KERNEL("attention_decode_tiles_" #depth "_" #rows "_f16",                          \
                       attention_decode_tiles<half, depth, rows / DECODE_SET>)                     \
    INSTANTIATE_KERNEL("attention_decode_tiles_" #depth "_" #rows "_bf16",                         \
                       attention_decode_tiles<bfloat, depth, rows / DECODE_SET>)
INSTANTIATE_TILES(64, 4)
INSTANTIATE_TILES(64, 8)
INSTANTIATE_TILES(128, 4)
INSTANTIATE_TILES(128, 8)
INSTANTIATE_TILES(192, 4)
INSTANTIATE_TILES(192, 8)
INSTANTIATE_TILES(256, 4)
