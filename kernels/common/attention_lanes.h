// What the attention kernels with one query (or one key) to a lane are made of. A lane keeps its
// row in private memory; the rows of the other side are the same for all lanes, so that each
// multiply-add takes one value for all lanes and one of the lane's own: matrix products without a
// shuffle.
#ifndef INGOT_KERNELS_COMMON_ATTENTION_LANES_H
#define INGOT_KERNELS_COMMON_ATTENTION_LANES_H

#include "common/attention_args.h"

// Offset of a row, from strides of batch, head and row
inline long attention_at(constant const int64_t *stride, uint batch, uint head, uint row) {
    return batch * stride[0] + head * stride[1] + row * stride[2];
}
// Number of a query's row in what is dense, such as lse
inline ulong attention_row(constant attention_args &args, uint batch, uint head, uint i) {
    return (ulong(batch) * args.heads + head) * args.queries + i;
}
inline float attention_slope(constant attention_args &args, device const float *slopes, uint batch,
                             uint head) {
    return args.flags & ATTENTION_ALIBI ? slopes[batch * args.slope_stride + head] : 0.0f;
}

// scores[j] = own . rows[j] for `count` rows, STEP at a time
template <uint STEP, typename Rows>
inline void attention_dots(thread const float *own, Rows rows, long stride, uint depth,
                           thread float *scores) {
    float sum[STEP];
    for (uint j = 0; j < STEP; j++) {
        sum[j] = 0.0f;
    }
    for (uint d = 0; d < depth; d++) {
        float x = own[d];
#pragma unroll
        for (uint j = 0; j < STEP; j++) {
            sum[j] = fma(x, rows[j * stride + d], sum[j]);
        }
    }
    for (uint j = 0; j < STEP; j++) {
        scores[j] = sum[j];
    }
}

template <uint STEP, typename Rows>
inline void attention_scores(thread const float *own, Rows rows, long stride, uint depth,
                             uint count, thread float *scores) {
    uint j = 0;
    for (; j + STEP <= count; j += STEP) {
        attention_dots<STEP>(own, rows + j * stride, stride, depth, scores + j);
    }
    for (; j < count; j++) {
        attention_dots<1>(own, rows + j * stride, stride, depth, scores + j);
    }
}

// sum[0..STEP) = factor * sum + weights . rows[.][0..STEP)
template <uint STEP, typename Rows>
inline void attention_columns(thread float *sum, float factor, thread const float *weights,
                              Rows rows, long stride, uint count) {
    float part[STEP];
    for (uint d = 0; d < STEP; d++) {
        part[d] = sum[d] * factor;
    }
    for (uint j = 0; j < count; j++) {
        float x = weights[j];
#pragma unroll
        for (uint d = 0; d < STEP; d++) {
            part[d] = fma(x, rows[j * stride + d], part[d]);
        }
    }
    for (uint d = 0; d < STEP; d++) {
        sum[d] = part[d];
    }
}

// sum[d] = factor * sum[d] + sum over j of weights[j] * rows[j][d]
template <uint STEP, typename Rows>
inline void attention_add(thread float *sum, float factor, thread const float *weights, Rows rows,
                          long stride, uint depth, uint count) {
    uint d = 0;
    for (; d + STEP <= depth; d += STEP) {
        attention_columns<STEP>(sum + d, factor, weights, rows + d, stride, count);
    }
    for (; d < depth; d++) {
        attention_columns<1>(sum + d, factor, weights, rows + d, stride, count);
    }
}

// Sizes of private memory; loops run to the true head sizes only. A block of rows of 16-bit
// elements is brought to threadgroup memory as float; float rows are used in place.
constant constexpr uint ATTENTION_DEPTH = 256, ATTENTION_BLOCK = 64, ATTENTION_STAGE = 8192;

template <typename T> struct attention_rows {
    typedef threadgroup const float *pointer;
    static constexpr constant uint staged = ATTENTION_STAGE;
    static inline uint block(uint depth) {
        return min(ATTENTION_BLOCK, ATTENTION_STAGE / max(depth, 1u) & ~31u);
    }
    static inline pointer bring(device const T *rows, long stride, uint depth, uint count,
                                uint lane, threadgroup float *stage) {
        simdgroup_barrier(mem_flags::mem_threadgroup);
        for (uint j = 0; j < count; j++) {
            for (uint d = lane; d < depth; d += ATTENTION_LANES) {
                stage[j * depth + d] = float(rows[j * stride + d]);
            }
        }
        simdgroup_barrier(mem_flags::mem_threadgroup);
        return stage;
    }
    static inline long stride_of(long, uint depth) {
        return depth;
    }
};
template <> struct attention_rows<float> {
    typedef device const float *pointer;
    static constexpr constant uint staged = 1;
    static inline uint block(uint) {
        return ATTENTION_BLOCK;
    }
    static inline pointer bring(device const float *rows, long, uint, uint, uint,
                                threadgroup float *) {
        return rows;
    }
    static inline long stride_of(long stride, uint) {
        return stride;
    }
};

// The keys that any of the queries first..last sees.
struct attention_range {
    uint begin, end;
};
inline attention_range attention_seen(constant attention_args &args, uint first, uint last) {
    int offset = int(args.keys) - int(args.queries);
    int begin = max(int(first) + offset - args.left, 0);
    int end = min(int(last) + offset + args.right + 1, int(args.keys));
    return {uint(begin), uint(max(end, 0))};
}

// What a mask and ALiBi add to the score of query i and key j, times log2(e); -infinity: not seen.
template <typename T>
inline float attention_bias(constant attention_args &args, device const uchar *mask, long mask_at,
                            float slope, uint i, uint j) {
    float bias = 0.0f;
    if (args.flags & ATTENTION_ALIBI) {
        bias = -slope * abs(float(int(i + args.keys - args.queries) - int(j)));
    }
    if (args.flags & ATTENTION_MASK_BOOL) {
        bias = mask[mask_at] ? bias : -INFINITY;
    } else if (args.flags & ATTENTION_MASK_F32) {
        bias += ((device const float *)mask)[mask_at];
    } else if (args.flags & ATTENTION_MASK_SAME) {
        bias += float(((device const T *)mask)[mask_at]);
    }
    return bias * M_LOG2E_F;
}

#define ATTENTION_BIASED                                                                           \
    (ATTENTION_MASK_BOOL | ATTENTION_MASK_F32 | ATTENTION_MASK_SAME | ATTENTION_ALIBI)

#endif
