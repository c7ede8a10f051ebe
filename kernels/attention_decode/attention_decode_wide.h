/*
 * The first phase for GPUs, for head sizes of DEPTH: a lane takes eight neighbouring elements of a
 * row, so that DEPTH / 8 lanes share a key and a SIMD-group has several keys at once. A round is
 * STEPS of them: first all scores, then one correction, then the values.
 *
 * Rows of k and v start at multiples of 16 bytes. There is no mask and no ALiBi.
 */
#ifndef INGOT_KERNELS_ATTENTION_DECODE_WIDE_H
#define INGOT_KERNELS_ATTENTION_DECODE_WIDE_H

#include "common/vector8.h"

/* Of the lanes that differ in the bits from FIRST on, below 32. */
template <uint FIRST> inline float max_of_groups(float x) {
#pragma unroll
    for (uint bit = FIRST; bit < LANES; bit *= 2) {
        x = max(x, simd_shuffle_xor(x, ushort(bit)));
    }
    return x;
}
template <uint FIRST> inline float sum_of_groups(float x) {
#pragma unroll
    for (uint bit = FIRST; bit < LANES; bit *= 2) {
        x += simd_shuffle_xor(x, ushort(bit));
    }
    return x;
}

/* ROWS sums over WIDTH neighbouring lanes, of which a lane gets one: in each step a lane hands half
 * of its rows to another and takes the other half from it. */
template <uint ROWS, uint WIDTH> struct rows_over_lanes {
    static float sum(thread const float *x, uint lane) {
        constexpr uint HALF = ROWS / 2, BIT = WIDTH / 2;
        const bool upper = lane & BIT;
        float kept[HALF];
#pragma unroll
        for (uint i = 0; i < HALF; i++) {
            float low = x[i], high = x[HALF + i];
            kept[i] =
                select(low, high, upper) + simd_shuffle_xor(select(high, low, upper), ushort(BIT));
        }
        return rows_over_lanes<HALF, BIT>::sum(kept, lane);
    }
    /* The row that a lane gets, and the first lane, of WIDTH, that gets a row. */
    static uint row(uint lane) {
        return (lane & WIDTH / 2 ? ROWS / 2 : 0) + rows_over_lanes<ROWS / 2, WIDTH / 2>::row(lane);
    }
    static constexpr uint lane(uint row) {
        return (row / (ROWS / 2) ? WIDTH / 2 : 0) +
               rows_over_lanes<ROWS / 2, WIDTH / 2>::lane(row % (ROWS / 2));
    }
};
template <uint WIDTH> struct rows_over_lanes<1, WIDTH> {
    static float sum(thread const float *x, uint) {
        float all = x[0];
#pragma unroll
        for (uint bit = WIDTH / 2; bit; bit /= 2) {
            all += simd_shuffle_xor(all, ushort(bit));
        }
        return all;
    }
    static uint row(uint) {
        return 0;
    }
    static constexpr uint lane(uint) {
        return 0;
    }
};

// Launched with one SIMD-group; the limit keeps it to so few registers that many of them run at
// once.
template <typename T, uint DEPTH, uint ROWS, uint STEPS>
[[max_total_threads_per_threadgroup(ROWS > 4         ? 256
                                    : sizeof(T) == 4 ? 384
                                                     : 448)]] kernel void
attention_decode_wide(device const T *q [[buffer(0)]], device const T *k [[buffer(1)]],
                      device const T *v [[buffer(2)]], device T *out [[buffer(3)]],
                      device float *lse [[buffer(4)]], device const uchar *mask [[buffer(5)]],
                      device const float *slopes [[buffer(6)]],
                      device const int *tables [[buffer(7)]],
                      device const int *lengths [[buffer(8)]], device float *partial [[buffer(9)]],
                      device float2 *extremes [[buffer(10)]],
                      constant attention_args &args [[buffer(11)]],
                      uint3 group [[threadgroup_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]]) {
    constexpr uint TOGETHER = DEPTH / LANE_ELEMENTS, GROUPS = LANES / TOGETHER,
                   ROUND = GROUPS * STEPS;
    const uint rows = args.group * args.queries, row_groups = (rows + ROWS - 1) / ROWS;
    const uint batch = group.z, key_head = group.y / row_groups;
    const uint first_row = group.y % row_groups * ROWS;
    const uint mine = lane / TOGETHER;               // the key of the step
    const uint at = lane % TOGETHER * LANE_ELEMENTS; // the first of its elements
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

    typedef rows_over_lanes<ROWS, TOGETHER> spread;
    float query[ROWS][LANE_ELEMENTS], sum[ROWS][LANE_ELEMENTS];
    float largest = -INFINITY, total = 0.0f;       // of its own row
    int lowest = ATTENTION_NO_LIMIT, highest = -1; // seen by any row
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        uint row = min(first_row + r, rows - 1);
        uint i = row % args.queries, head = key_head * args.group + row / args.queries;
        device const T *from = q + attention_at(args.q_stride, batch, head, i) + at;
        int position = int(i + keys - args.queries);
        lowest = min(lowest, position - args.left);
        highest = max(highest, position + args.right);
#pragma unroll
        for (uint e = 0; e < LANE_ELEMENTS; e++) {
            query[r][e] = float(from[e]) * (args.scale * M_LOG2E_F);
            sum[r][e] = 0.0f;
        }
    }
    const int begin = max(int(group.x * args.partition), lowest);
    const int end =
        min(min(int(group.x * args.partition + args.partition), int(keys)), highest + 1);
    const uint own_row = min(first_row + spread::row(lane % TOGETHER), rows - 1);
    const int position = int(own_row % args.queries + keys - args.queries);
    const int least = max(position - args.left, begin), most = min(position + args.right, end - 1);
    const uint group_lane = mine * TOGETHER;

    vector8<T> piece[STEPS], value[STEPS];
#pragma unroll
    for (uint s = 0; s < STEPS && begin < end; s++) {
        piece[s].load(row_of(k, args, decode_paged, args.k_stride, tables,
                             uint(min(begin + int(s * GROUPS + mine), end - 1))) +
                      at);
    }
    for (int t = begin; t < end; t += ROUND) {
        float score[STEPS], top = largest;
#pragma unroll
        for (uint s = 0; s < STEPS; s++) {
            float dots[ROWS];
#pragma unroll
            for (uint r = 0; r < ROWS; r++) {
                dots[r] = 0.0f;
            }
#pragma unroll
            for (uint e = 0; e < LANE_ELEMENTS; e++) {
                float x = piece[s].element(e);
#pragma unroll
                for (uint r = 0; r < ROWS; r++) {
                    dots[r] = fma(query[r][e], x, dots[r]);
                }
            }
            int key = t + int(s * GROUPS + mine);
            float dot = spread::sum(dots, lane);
            score[s] = key >= least && key <= most ? dot : -INFINITY;
            top = max(top, score[s]);
        }
#pragma unroll
        for (uint s = 0; s < STEPS; s++) {
            value[s].load(row_of(v, args, decode_paged, args.v_stride, tables,
                                 uint(min(t + int(s * GROUPS + mine), end - 1))) +
                          at);
        }
#pragma unroll
        for (uint s = 0; s < STEPS; s++) { // the next round's keys
            piece[s].load(row_of(k, args, decode_paged, args.k_stride, tables,
                                 uint(min(t + int(ROUND + s * GROUPS + mine), end - 1))) +
                          at);
        }
        top = max_of_groups<TOGETHER>(top);
        float base = top == -INFINITY ? 0.0f : top, correction = fast::exp2(largest - base);
        largest = top;
        total *= correction;
#pragma unroll
        for (uint s = 0; s < STEPS; s++) {
            score[s] = fast::exp2(score[s] - base);
            total += score[s]; // of the lane's own keys
        }
#pragma unroll
        for (uint r = 0; r < ROWS; r++) {
            float factor = simd_shuffle(correction, ushort(group_lane + spread::lane(r)));
#pragma unroll
            for (uint e = 0; e < LANE_ELEMENTS; e++) {
                sum[r][e] *= factor;
            }
        }
#pragma unroll
        for (uint s = 0; s < STEPS; s++) {
            float weight[ROWS];
#pragma unroll
            for (uint r = 0; r < ROWS; r++) {
                weight[r] = simd_shuffle(score[s], ushort(group_lane + spread::lane(r)));
            }
#pragma unroll
            for (uint e = 0; e < LANE_ELEMENTS; e++) {
                float x = value[s].element(e);
#pragma unroll
                for (uint r = 0; r < ROWS; r++) {
                    sum[r][e] = fma(weight[r], x, sum[r][e]);
                }
            }
        }
    }

    total = sum_of_groups<TOGETHER>(total);
#pragma unroll
    for (uint r = 0; r < ROWS; r++) {
        const float all = simd_shuffle(total, ushort(spread::lane(r)));
        const float top = simd_shuffle(largest, ushort(spread::lane(r)));
#pragma unroll
        for (uint e = 0; e < LANE_ELEMENTS; e++) {
            sum[r][e] = sum_of_groups<TOGETHER>(sum[r][e]);
        }
        uint row = first_row + r;
        if (row >= rows || mine != 0) {
            continue;
        }
        uint i = row % args.queries, head = key_head * args.group + row / args.queries;
        ulong index = attention_row(args, batch, head, i);
        bool whole = args.partitions == 1;
        float inverse = !whole ? 1.0f : all == 0.0f ? 0.0f : 1.0f / all;
        device T *to = out + attention_at(args.out_stride, batch, head, i) + at;
        ulong part = index * args.partitions + group.x;
#pragma unroll
        for (uint e = 0; e < LANE_ELEMENTS; e++) {
            if (whole) {
                to[e] = T(sum[r][e] * inverse);
            } else {
                partial[part * DEPTH + at + e] = sum[r][e];
            }
        }
        if (at == 0 && !whole) {
            extremes[part] = float2(top, all);
        }
        if (at == 0 && whole && (args.flags & ATTENTION_LSE)) {
            lse[index] = all == 0.0f ? -INFINITY : (top + log2(all)) * M_LN2_F;
        }
    }
}

#endif
