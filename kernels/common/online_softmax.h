/*
 * The maximum of a row and the sum of exp(x - maximum), in one pass (Milakov and Gimelshein,
 * "Online normalizer calculation for softmax"). The maximum so far belongs to the SIMD-group, or
 * to a thread that has a row for itself; the sums are scaled when it grows, which is rare after the
 * first blocks.
 *
 * NaN goes into the sum. A row of -infinity alone has the sum 0.
 */
#ifndef INGOT_KERNELS_COMMON_ONLINE_SOFTMAX_H
#define INGOT_KERNELS_COMMON_ONLINE_SOFTMAX_H

#include "common/rows.h"

struct online_softmax {
    float top;  /* the maximum so far */
    float4 sum; /* this thread's, of exp(x - online_base(top)) */
};

/* What exponents are taken from: the maximum, and 0 where there is none. */
inline float online_base(float top) {
    return top == -INFINITY ? 0.0f : top;
}

inline void online_add(thread online_softmax &o, float4 v) {
    float top = max4(v);
    if (ROW_SIMDS ? simd_any(top > o.top) : top > o.top) {
        float next = greater(top, o.top);
        next = ROW_SIMDS ? simd_max(next) : next;
        o.sum *= fast::exp(o.top - next);
        o.top = next;
    }
    o.sum += fast::exp(v - online_base(o.top));
}

/* This thread's sum with exponents from the row's maximum. */
inline float online_sum(online_softmax o, float top) {
    return sum4(o.sum) * (o.top == top ? 1.0f : fast::exp(o.top - top));
}

#endif
