/*
 * os_log: each argument becomes one 8-byte slot (integers extended, floating point as double,
 * strings as pointers), a vector one for each element, read by the runtime with the format string.
 */
#pragma once
#include "ingot_types.h"

namespace metal {
enum os_log_type {
    os_log_type_default = 0,
    os_log_type_info = 1,
    os_log_type_debug = 2,
    os_log_type_error = 16,
    os_log_type_fault = 17,
};

template <class T> __ingot_inline ulong __ingot_log_slot(T x) {
    if constexpr (__is_pointer(T)) {
        return (ulong)x;
    } else if constexpr (__is_floating_point(T)) {
        return __builtin_bit_cast(ulong, (double)(float)x);
    } else {
        return (ulong)(long)x;
    }
}

template <class T> constexpr uint __ingot_log_count = 1;
template <class T, int N> constexpr uint __ingot_log_count<vec<T, N>> = N;
template <class T, int N> constexpr uint __ingot_log_count<packed_vec<T, N>> = N;
template <class T, int N> constexpr uint __ingot_log_count<__ingot_packed_operand<T, N>> = N;

template <class T> __ingot_inline ulong *__ingot_log_put(ulong *slot, T x) {
    if constexpr (__ingot_log_count<T> == 1) {
        *slot = __ingot_log_slot(x);
    } else {
        for (uint i = 0; i < __ingot_log_count<T>; i++) {
            slot[i] = __ingot_log_slot(x[i]);
        }
    }
    return slot + __ingot_log_count<T>;
}

struct os_log {
    __ingot_inline constexpr os_log() {}
    /* Subsystem and category; not shown. */
    template <class S, class C> __ingot_inline constexpr os_log(S, C) {}
    template <class... A>
    __ingot_inline void log_with_type(os_log_type type, const char *format, A... args) const {
        constexpr uint count = (0u + ... + __ingot_log_count<A>);
        ulong slots[count + 1], *next = slots;
        ((next = __ingot_log_put(next, args)), ...);
        __ingot_log(type, format, count, slots);
    }
    template <class... A> __ingot_inline void log(const char *format, A... args) const {
        log_with_type(os_log_type_default, format, args...);
    }
    template <class... A> __ingot_inline void log_info(const char *format, A... args) const {
        log_with_type(os_log_type_info, format, args...);
    }
    template <class... A> __ingot_inline void log_debug(const char *format, A... args) const {
        log_with_type(os_log_type_debug, format, args...);
    }
    template <class... A> __ingot_inline void log_error(const char *format, A... args) const {
        log_with_type(os_log_type_error, format, args...);
    }
    template <class... A> __ingot_inline void log_fault(const char *format, A... args) const {
        log_with_type(os_log_type_fault, format, args...);
    }
};
inline constexpr os_log os_log_default;
} // namespace metal
