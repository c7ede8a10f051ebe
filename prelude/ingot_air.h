/*
 * Functions that kernels declare for themselves by their symbol, as in
 *   event *copy(ulong, ulong, …) __asm("air.simdgroup_async_copy_2d.p3i8.p1i8");
 * The copies are done at once by the lanes of the SIMD-group; there is nothing to wait for.
 */
#pragma once
#include "ingot_types.h"

struct __ingot_event;

/* One element of `size` bytes; size is a constant after inlining. */
template <class D, class S> __ingot_inline void __ingot_copy_element(D to, S from, ulong size) {
    for (ulong i = 0; i < size; i++) {
        to[i] = from[i];
    }
}
template <class D> __ingot_inline void __ingot_clear_element(D to, ulong size) {
    for (ulong i = 0; i < size; i++) {
        to[i] = 0;
    }
}

template <class D, class S>
__ingot_inline void __ingot_copy_1d(D to, S from, ulong size, ulong count) {
    for (ulong i = __ingot_thread_index_in_simdgroup(); i < count; i += 32) {
        __ingot_copy_element(to + i * size, from + i * size, size);
    }
}
/* A tile of to_tile.x by to_tile.y elements. What lies outside from_tile is zero, or the nearest
 * element of it when clamp_to_edge. Strides are in elements. */
template <class D, class S>
__ingot_inline void __ingot_copy_2d(D to, ulong to_stride, ulong2 to_tile, S from,
                                    ulong from_stride, ulong2 from_tile, long2 offset, ulong size,
                                    bool clamp_to_edge) {
    long width = (long)from_tile.x, height = (long)from_tile.y;
    for (ulong row = 0; row < to_tile.y; row++) {
        long y = (long)row + offset.y;
        for (ulong i = __ingot_thread_index_in_simdgroup(); i < to_tile.x; i += 32) {
            long x = (long)i + offset.x;
            D element = to + (row * to_stride + i) * size;
            long cx = x < 0 ? 0 : x >= width ? width - 1 : x;
            long cy = y < 0 ? 0 : y >= height ? height - 1 : y;
            bool inside = cx == x && cy == y;
            if (inside || (clamp_to_edge && width > 0 && height > 0)) {
                __ingot_copy_element(element, from + (cy * (long)from_stride + cx) * (long)size,
                                     size);
            } else {
                __ingot_clear_element(element, size);
            }
        }
    }
}

/* By element size, so that the common ones move as words. */
#define __INGOT_ASYNC_COPY(name, TO, FROM, spaces)                                                 \
    inline __attribute__((always_inline)) __ingot_event *__ingot_async_1d_##name(                  \
        ulong size, ulong align, TO void *to, const FROM void *from,                               \
        ulong count) __asm("air.simdgroup_async_copy_1d." spaces);                                 \
    inline __ingot_event *__ingot_async_1d_##name(ulong size, ulong, TO void *to,                  \
                                                  const FROM void *from, ulong count) {            \
        if (size == 4) {                                                                           \
            __ingot_copy_1d((TO uint *)to, (const FROM uint *)from, 1, count);                     \
        } else if (size == 2) {                                                                    \
            __ingot_copy_1d((TO ushort *)to, (const FROM ushort *)from, 1, count);                 \
        } else {                                                                                   \
            __ingot_copy_1d((TO uchar *)to, (const FROM uchar *)from, size, count);                \
        }                                                                                          \
        return nullptr;                                                                            \
    }                                                                                              \
    inline __attribute__((always_inline)) __ingot_event *__ingot_async_2d_##name(                  \
        ulong size, ulong align, TO void *to, ulong to_stride, ulong, ulong2 to_tile,              \
        const FROM void *from, ulong from_stride, ulong, ulong2 from_tile, long2 offset,           \
        int clamp_mode) __asm("air.simdgroup_async_copy_2d." spaces);                              \
    inline __ingot_event *__ingot_async_2d_##name(ulong size, ulong, TO void *to, ulong to_stride, \
                                                  ulong, ulong2 to_tile, const FROM void *from,    \
                                                  ulong from_stride, ulong, ulong2 from_tile,      \
                                                  long2 offset, int clamp_mode) {                  \
        bool edge = clamp_mode == 1;                                                               \
        if (size == 4) {                                                                           \
            __ingot_copy_2d((TO uint *)to, to_stride, to_tile, (const FROM uint *)from,            \
                            from_stride, from_tile, offset, 1, edge);                              \
        } else if (size == 2) {                                                                    \
            __ingot_copy_2d((TO ushort *)to, to_stride, to_tile, (const FROM ushort *)from,        \
                            from_stride, from_tile, offset, 1, edge);                              \
        } else {                                                                                   \
            __ingot_copy_2d((TO uchar *)to, to_stride, to_tile, (const FROM uchar *)from,          \
                            from_stride, from_tile, offset, size, edge);                           \
        }                                                                                          \
        return nullptr;                                                                            \
    }
__INGOT_ASYNC_COPY(load, __ingot_threadgroup, __ingot_device, "p3i8.p1i8")
__INGOT_ASYNC_COPY(store, __ingot_device, __ingot_threadgroup, "p1i8.p3i8")
#undef __INGOT_ASYNC_COPY

inline __attribute__((always_inline)) void
__ingot_wait_events(int count, __ingot_event **events) __asm("air.wait_simdgroup_events");
inline void __ingot_wait_events(int, __ingot_event **) {
    __ingot_barrier(1, 3);
}
