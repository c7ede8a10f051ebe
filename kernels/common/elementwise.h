/* How a SIMD-group takes elements one by one, 128 at a time: each lane has four, either side by
 * side (one vector of four, which must be aligned) or 32 apart (no demands, and what CPUs like). */
#ifndef INGOT_KERNELS_COMMON_ELEMENTWISE_H
#define INGOT_KERNELS_COMMON_ELEMENTWISE_H

#include "common/memory_hints.h"
#include <metal_stdlib>
using namespace metal;

constant bool line_wide [[function_constant(0)]]; /* side by side */

constexpr constant uint ELEMENTS_STEP = 128;

/* The number of a SIMD-group in the grid: groups of one dimension in rows (see
 * igo_launch_simdgroups). The same in all lanes. */
inline ulong simdgroup_number(uint2 group, uint2 groups, uint simd, uint simds) {
    return (ulong(group.y) * groups.x + group.x) * simds + simd;
}

/* `at` is where the step begins. */
template <typename T> inline float4 elements_load(device const T *at, uint lane) {
    if (line_wide) {
        return float4(((device const vec<T, 4> *)at)[lane]);
    }
    return float4(at[lane], at[lane + 32], at[lane + 64], at[lane + 96]);
}

template <typename T> inline void elements_store(device T *at, uint lane, float4 value) {
    if (line_wide) {
        ((device vec<T, 4> *)at)[lane] = vec<T, 4>(value);
    } else {
        at[lane] = T(value.x);
        at[lane + 32] = T(value.y);
        at[lane + 64] = T(value.z);
        at[lane + 96] = T(value.w);
    }
}

/* Eight neighbours of a 16-bit type, 16 bytes, to a lane: two steps at once. */
template <typename T>
inline void elements_load_eight(device const T *at, uint lane, thread float4 *v) {
    uint4 eight = ((device const uint4 *)at)[lane];
    v[0] = float4(as_type<vec<T, 4>>(eight.xy));
    v[1] = float4(as_type<vec<T, 4>>(eight.zw));
}

template <typename T>
inline void elements_store_eight(device T *at, uint lane, float4 first, float4 second) {
    ((device uint4 *)at)[lane] =
        uint4(as_type<uint2>(vec<T, 4>(first)), as_type<uint2>(vec<T, 4>(second)));
}

/* As elements_store; past_caches: see memory_hints.h. */
template <typename T>
inline void elements_store(device T *at, uint lane, float4 value, uint past_caches) {
    if (line_wide) {
        elements_store(at, lane, value);
    } else {
        nontemporal_store(at + lane, T(value.x), past_caches);
        nontemporal_store(at + (lane + 32), T(value.y), past_caches);
        nontemporal_store(at + (lane + 64), T(value.z), past_caches);
        nontemporal_store(at + (lane + 96), T(value.w), past_caches);
    }
}

#endif
