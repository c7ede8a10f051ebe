/* What a kernel can say about the memory that it reads and writes. It changes no result. */
#ifndef INGOT_KERNELS_COMMON_MEMORY_HINTS_H
#define INGOT_KERNELS_COMMON_MEMORY_HINTS_H

#include <metal_stdlib>
using namespace metal;

/* *at = value; `past` (uniform): past the caches if that is possible. CPUs read a line before they
 * write a part of it, unless it is stored past the caches, which saves a third of the traffic of a
 * copy; but what is read again soon should stay. So host code decides (igo_stores_past_caches). */
template <typename T> inline void nontemporal_store(device T *at, T value, uint past) {
#ifdef __INGOT__
    if constexpr (sizeof(T) == 4) {
        __ingot_stream_b32(as_type<uint>(value), (device uint *)at, past);
        return;
    } else if constexpr (sizeof(T) == 2) {
        __ingot_stream_b16(as_type<ushort>(value), (device ushort *)at, past);
        return;
    }
#endif
    *at = value;
}

/* Says that a kernel's time goes to loads and stores of T, one after the other, and one threadgroup
 * after the other: CPUs then move 32 bytes at a time, which memory likes better than 64, and may
 * alternate between threadgroups of two places. */
template <typename T> inline void memory_bound() {
#ifdef __INGOT__
    if constexpr (sizeof(T) == 4) {
        __ingot_streaming();
    }
#endif
}

/* Says, at the top of a kernel, how many of its threads should fit a GPU's core at once: a bound of
 * their registers. 0: nothing. */
inline void threads_at_once(uint count) {
#ifdef __INGOT__
    __ingot_threads_at_once(count);
#endif
}

/* `at`; what is loaded through it leaves a GPU's caches last. For what is read once, next to stores
 * of as much: these leave first then, which the memory likes better. */
template <typename T> inline device const T *evict_last(device const T *at) {
#ifdef __INGOT__
    return (device const T *)__ingot_staying((device const char *)at);
#else
    return at;
#endif
}

/* COUNT elements from `at` on (uniform; any address) are read soon. */
template <uint COUNT, typename T> inline void prefetch(device const T *at) {
#ifdef __INGOT__
    constexpr uint line = 64;
#pragma unroll
    for (uint byte = 0; byte < COUNT * uint(sizeof(T)); byte += line) {
        __ingot_prefetch((device const char *)at + byte);
    }
#endif
}

#endif
