/*
 * os_log: each argument becomes one 8-byte slot (integers extended, floating point as double,
 * strings as pointers), read by the runtime with the format string.
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

struct os_log {
    __ingot_inline constexpr os_log() {}
    /* Subsystem and category; not shown. */
    template <class S, class C> __ingot_inline constexpr os_log(S, C) {}
    template <class... A>
    __ingot_inline void log_with_type(os_log_type type, const char *format, A... args) const {
        ulong slots[sizeof...(A) + 1] = {__ingot_log_slot(args)..., 0};
        __ingot_log(type, format, sizeof...(A), slots);
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
