/*
 * Atomics: clang's __atomic_* built-ins on device and threadgroup memory, which become LLVM's
 * atomic instructions. Metal's atomic functions are relaxed: the order operand is not looked at.
 * Floating point arithmetic is a compare-and-exchange loop on the bits.
 */
#pragma once
#include "ingot_sync.h"

namespace metal {
template <class T> struct atomic {
    T __value;
    atomic() = default;
    atomic(const atomic &) = delete;
    atomic &operator=(const atomic &) = delete;
};
template <class T> using _atomic = atomic<T>; /* Apple's headers call it so, and kernels too */
typedef atomic<bool> atomic_bool;
typedef atomic<int> atomic_int;
typedef atomic<uint> atomic_uint;
typedef atomic<long> atomic_long;
typedef atomic<ulong> atomic_ulong;
typedef atomic<float> atomic_float;
typedef atomic<half> atomic_half;

/* x = f(x, value) until nobody came between; the former x. */
template <class T, class P, class F> __ingot_inline T __ingot_atomic_update(P bits, T value, F f) {
    using U = __ingot_bits_t<T>;
    U seen = __atomic_load_n(bits, __ATOMIC_RELAXED);
    for (;;) {
        U wanted = __builtin_bit_cast(U, f(__builtin_bit_cast(T, seen), value));
        if (__atomic_compare_exchange_n(bits, &seen, wanted, false, __ATOMIC_RELAXED,
                                        __ATOMIC_RELAXED)) {
            return __builtin_bit_cast(T, seen);
        }
    }
}

/* Other orders than relaxed are those of fences. */
#define __INGOT_RELAXED                                                                            \
    __ingot_warn_if(order != memory_order_relaxed,                                                 \
                    "Apple's compiler takes memory_order_relaxed only, but for fences")            \
        __ingot_warn_if((sizeof(T) < 4 && !__is_same(T, bool)),                                    \
                        "Apple's compiler has no atomic functions of less than 32 bits")           \
            __ingot_warn_if((__is_same(T, long)),                                                  \
                            "Apple's compiler has no atomic functions of long")
/* By function: what is added has 32 bits, the least and the largest are of integers. */
#define __INGOT_ADDS                                                                               \
    __ingot_warn_if((sizeof(T) == 8), "Apple's compiler has atomic_min_explicit and "              \
                                      "atomic_max_explicit of 64 bits, and no others")
#define __INGOT_ADDS_INTEGERS                                                                      \
    __ingot_warn_if((__ingot_is_real<T>), "Apple's compiler adds floats in device memory only")    \
        __INGOT_ADDS
#define __INGOT_ORDERS                                                                             \
    __ingot_warn_if((__ingot_is_real<T>),                                                          \
                    "Apple's compiler has no atomic minimum or maximum of floats")
#define __INGOT_COMBINES                                                                           \
    __ingot_warn_if((__ingot_is_real<T>), "Apple's compiler has no bitwise atomics of floats")     \
        __INGOT_ADDS

#define __INGOT_ATOMIC_FETCH(space, name, refused, builtin, floating)                              \
    template <class T>                                                                             \
    __ingot_inline T atomic_fetch_##name##_explicit(volatile space atomic<T> *object,              \
                                                    type_identity_t<T> value, memory_order order)  \
        __INGOT_RELAXED refused {                                                                  \
        if constexpr (__ingot_is_real<T>) {                                                        \
            volatile space __ingot_bits_t<T> *bits = (volatile space __ingot_bits_t<T> *)object;   \
            return __ingot_atomic_update<T>(bits, value, [](T a, T b) { return floating; });       \
        } else {                                                                                   \
            return builtin((volatile space T *)object, value, __ATOMIC_RELAXED);                   \
        }                                                                                          \
    }
#define __INGOT_ATOMIC_BITWISE(space, name)                                                        \
    template <class T>                                                                             \
    __ingot_inline T atomic_fetch_##name##_explicit(volatile space atomic<T> *object,              \
                                                    type_identity_t<T> value, memory_order order)  \
        __INGOT_RELAXED __INGOT_COMBINES {                                                         \
        return (T)__atomic_fetch_##name((volatile space __ingot_bits_t<T> *)object,                \
                                        (__ingot_bits_t<T>)value, __ATOMIC_RELAXED);               \
    }
#define __INGOT_ATOMICS(space, adds)                                                               \
    template <class T>                                                                             \
    __ingot_inline T atomic_load_explicit(const volatile space atomic<T> *object,                  \
                                          memory_order order) __INGOT_RELAXED {                    \
        using U = __ingot_bits_t<T>;                                                               \
        return __builtin_bit_cast(                                                                 \
            T, __atomic_load_n((const volatile space U *)object, __ATOMIC_RELAXED));               \
    }                                                                                              \
    template <class T>                                                                             \
    __ingot_inline void atomic_store_explicit(volatile space atomic<T> *object,                    \
                                              type_identity_t<T> value, memory_order order)        \
        __INGOT_RELAXED {                                                                          \
        using U = __ingot_bits_t<T>;                                                               \
        __atomic_store_n((volatile space U *)object, __builtin_bit_cast(U, value),                 \
                         __ATOMIC_RELAXED);                                                        \
    }                                                                                              \
    template <class T>                                                                             \
    __ingot_inline T atomic_exchange_explicit(volatile space atomic<T> *object,                    \
                                              type_identity_t<T> value, memory_order order)        \
        __INGOT_RELAXED {                                                                          \
        using U = __ingot_bits_t<T>;                                                               \
        return __builtin_bit_cast(T, __atomic_exchange_n((volatile space U *)object,               \
                                                         __builtin_bit_cast(U, value),             \
                                                         __ATOMIC_RELAXED));                       \
    }                                                                                              \
    template <class T>                                                                             \
    __ingot_inline bool atomic_compare_exchange_weak_explicit(                                     \
        volatile space atomic<T> *object, type_identity_t<T> *expected,                            \
        type_identity_t<T> desired, memory_order order, memory_order failure) __INGOT_RELAXED {    \
        using U = __ingot_bits_t<T>;                                                               \
        U seen = __builtin_bit_cast(U, *expected);                                                 \
        bool done = __atomic_compare_exchange_n((volatile space U *)object, &seen,                 \
                                                __builtin_bit_cast(U, desired), false,             \
                                                __ATOMIC_RELAXED, __ATOMIC_RELAXED);               \
        if (!done) {                                                                               \
            *expected = __builtin_bit_cast(T, seen);                                               \
        }                                                                                          \
        return done;                                                                               \
    }                                                                                              \
    __INGOT_ATOMIC_FETCH(space, add, adds, __atomic_fetch_add, a + b)                              \
    __INGOT_ATOMIC_FETCH(space, sub, adds, __atomic_fetch_sub, a - b)                              \
    __INGOT_ATOMIC_FETCH(space, min, __INGOT_ORDERS, __atomic_fetch_min, b < a ? b : a)            \
    __INGOT_ATOMIC_FETCH(space, max, __INGOT_ORDERS, __atomic_fetch_max, a < b ? b : a)            \
    __INGOT_ATOMIC_BITWISE(space, and)                                                             \
    __INGOT_ATOMIC_BITWISE(space, or)                                                              \
    __INGOT_ATOMIC_BITWISE(space, xor)                                                             \
    template <class T>                                                                             \
    __ingot_inline void atomic_min_explicit(volatile space atomic<T> *object,                      \
                                            type_identity_t<T> value, memory_order order) {        \
        atomic_fetch_min_explicit(object, value, order);                                           \
    }                                                                                              \
    template <class T>                                                                             \
    __ingot_inline void atomic_max_explicit(volatile space atomic<T> *object,                      \
                                            type_identity_t<T> value, memory_order order) {        \
        atomic_fetch_max_explicit(object, value, order);                                           \
    }
__INGOT_ATOMICS(__ingot_device, __INGOT_ADDS)
__INGOT_ATOMICS(__ingot_threadgroup, __INGOT_ADDS_INTEGERS)
#undef __INGOT_ATOMICS
#undef __INGOT_ATOMIC_FETCH
#undef __INGOT_ATOMIC_BITWISE
#undef __INGOT_ADDS
#undef __INGOT_ADDS_INTEGERS
#undef __INGOT_ORDERS
#undef __INGOT_COMBINES
} // namespace metal
