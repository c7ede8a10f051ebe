/* Reductions over the threads that share a row: one SIMD-group, or several of a threadgroup; with 0
 * SIMD-groups a thread has its row for itself. With one the barriers fold away. `shared` has 32
 * elements, and every thread gets the result. */
#ifndef INGOT_KERNELS_COMMON_REDUCE_H
#define INGOT_KERNELS_COMMON_REDUCE_H

#include <metal_stdlib>
using namespace metal;
#include "common/threadgroups.h"

/* Leaves the SIMD-groups' values in shared, for all to read. */
inline void share_value(float value, threadgroup float *shared, uint simd, uint lane) {
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (lane == 0) {
        shared[simd] = value;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
}

inline float sum_over(uint simds, float value, threadgroup float *shared, uint simd, uint lane) {
    if (simds == 0) {
        return value;
    }
    value = simd_sum(value);
    if (simds > 1) {
        share_value(value, shared, simd, lane);
        value = simd_sum(lane < simds ? shared[lane] : 0.0f);
    }
    return value;
}

/* The same; nobody has used `shared` before. */
inline float first_sum_over(uint simds, float value, threadgroup float *shared, uint simd,
                            uint lane) {
    if (simds == 0) {
        return value;
    }
    value = simd_sum(value);
    if (simds > 1) {
        if (lane == 0) {
            shared[simd] = value;
        }
        threadgroup_barrier(mem_flags::mem_threadgroup);
        value = simd_sum(lane < simds ? shared[lane] : 0.0f);
    }
    return value;
}

/* Both sums of a pair at once; `shared` is for this alone, once. Each half of a SIMD-group adds one
 * of them up, and few SIMD-groups are added without shuffles: their latency is what counts. */
inline float2 sums_over(uint simds, float2 value, threadgroup float2 *shared, uint simd,
                        uint lane) {
    if (simds == 0) {
        return value;
    }
    if (simds == 1) {
        return float2(simd_sum(value.x), simd_sum(value.y));
    }
    const bool second = lane >= 16;
    float mine = second ? value.y : value.x, other = second ? value.x : value.y;
    mine += simd_shuffle_xor(other, 16);
    for (ushort apart = 8; apart > 0; apart /= 2) {
        mine += simd_shuffle_xor(mine, apart);
    }
    if (lane % 16 == 0) {
        ((threadgroup float *)(shared + simd))[second] = mine;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    if (simds > 8) {
        value = lane < simds ? shared[lane] : float2(0.0f);
        return float2(simd_sum(value.x), simd_sum(value.y));
    }
    value = shared[0];
    for (uint i = 1; i < simds; i++) {
        value += shared[i];
    }
    return value;
}

inline float max_over(uint simds, float value, threadgroup float *shared, uint simd, uint lane) {
    if (simds == 0) {
        return value;
    }
    value = simd_max(value);
    if (simds > 1) {
        share_value(value, shared, simd, lane);
        value = simd_max(lane < simds ? shared[lane] : -INFINITY);
    }
    return value;
}

inline float sum4(float4 v) {
    return (v.x + v.y) + (v.z + v.w);
}

/* sum / count, within 2 ulp: a GPU's exact division takes as long as a block of a row. */
inline float mean_of(float sum, uint count) {
    return fast::divide(sum, float(count));
}

/* 1 / sqrt(v), within an ulp: one step of Newton's method, but not from infinity or 0. */
inline float inverse_root(float v) {
    float y = fast::rsqrt(v), better = fma(0.5f * y, fma(-v * y, y, 1.0f), y);
    return isfinite(better) ? better : y;
}

/* The greater of two; `old` when the new one is NaN. */
inline float greater(float fresh, float old) {
    return fresh > old ? fresh : old;
}

/* The greatest of four; anything when one is NaN. */
inline float max4(float4 v) {
    return greater(greater(v.x, v.y), greater(v.z, v.w));
}

#endif
