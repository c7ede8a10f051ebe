/* Stores of results that are larger than the caches. CPUs read a line before they write a part of
 * it, unless it is stored past the caches, which saves a third of the traffic of a copy; but what
 * is read again soon should stay. So host code decides (ops/stream.h). */
#ifndef INGOT_KERNELS_COMMON_STREAM_H
#define INGOT_KERNELS_COMMON_STREAM_H

#include <metal_stdlib>
using namespace metal;

/* *at = value; `past` (uniform): past the caches if that is possible. */
template <typename T> inline void stream_store(device T *at, T value, uint past) {
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
 * take threadgroups from two places in turn. */
template <typename T> inline void mostly_moves() {
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
template <typename T> inline device const T *staying(device const T *at) {
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
