/*
 * numeric_limits for every scalar type.
 */
#pragma once
#include "ingot_traits.h"

namespace metal {
enum float_round_style {
    round_indeterminate = -1,
    round_toward_zero = 0,
    round_to_nearest = 1,
    round_toward_infinity = 2,
    round_toward_neg_infinity = 3
};
enum float_denorm_style { denorm_indeterminate = -1, denorm_absent = 0, denorm_present = 1 };

template <class T> struct _numeric_limits_impl {
    static constexpr bool is_specialized = false;
};

struct _fp_numeric_limits_impl_base {
    static constexpr bool is_specialized = true;
    static constexpr bool is_signed = true;
    static constexpr bool is_integer = false;
    static constexpr bool is_exact = false;
    static constexpr bool has_infinity = true;
    static constexpr bool has_quiet_NaN = true;
    static constexpr bool has_signaling_NaN = true;
    static constexpr float_denorm_style has_denorm = denorm_present;
    static constexpr bool has_denorm_loss = false;
    static constexpr float_round_style round_style = round_to_nearest;
    static constexpr bool is_iec559 = true;
    static constexpr bool is_bounded = true;
    static constexpr bool is_modulo = false;
    static constexpr bool traps = false;
    static constexpr bool tinyness_before = false;
    static constexpr int radix = 2;
};

#define __INGOT_INTEGER_LIMITS(T)                                                                  \
    template <> struct _numeric_limits_impl<T> {                                                   \
        static constexpr bool is_specialized = true;                                               \
        static constexpr bool is_signed = T(-1) < T(0);                                            \
        static constexpr bool is_integer = true;                                                   \
        static constexpr bool is_exact = true;                                                     \
        static constexpr bool has_infinity = false;                                                \
        static constexpr bool has_quiet_NaN = false;                                               \
        static constexpr bool has_signaling_NaN = false;                                           \
        static constexpr float_denorm_style has_denorm = denorm_absent;                            \
        static constexpr bool has_denorm_loss = false;                                             \
        static constexpr float_round_style round_style = round_toward_zero;                        \
        static constexpr bool is_iec559 = false;                                                   \
        static constexpr bool is_bounded = true;                                                   \
        static constexpr bool is_modulo = !is_signed;                                              \
        static constexpr bool traps = false;                                                       \
        static constexpr bool tinyness_before = false;                                             \
        static constexpr int radix = 2;                                                            \
        static constexpr int digits =                                                              \
            __is_same(T, bool) ? 1 : int(sizeof(T) * 8) - int(is_signed);                          \
        static constexpr int digits10 = digits * 643L / 2136;                                      \
        static constexpr int max_digits10 = 0;                                                     \
        static constexpr int min_exponent = 0;                                                     \
        static constexpr int min_exponent10 = 0;                                                   \
        static constexpr int max_exponent = 0;                                                     \
        static constexpr int max_exponent10 = 0;                                                   \
        static constexpr T max() {                                                                 \
            return T(~0UL >> (64 - digits));                                                       \
        }                                                                                          \
        static constexpr T min() {                                                                 \
            return is_signed ? T(T(-1) - max()) : T(0);                                            \
        }                                                                                          \
        static constexpr T lowest() {                                                              \
            return min();                                                                          \
        }                                                                                          \
        static constexpr T epsilon() {                                                             \
            return T(0);                                                                           \
        }                                                                                          \
        static constexpr T round_error() {                                                         \
            return T(0);                                                                           \
        }                                                                                          \
        static constexpr T infinity() {                                                            \
            return T(0);                                                                           \
        }                                                                                          \
        static constexpr T quiet_NaN() {                                                           \
            return T(0);                                                                           \
        }                                                                                          \
        static constexpr T signaling_NaN() {                                                       \
            return T(0);                                                                           \
        }                                                                                          \
        static constexpr T denorm_min() {                                                          \
            return T(0);                                                                           \
        }                                                                                          \
    };
__INGOT_INTEGER_LIMITS(bool)
__INGOT_INTEGERS(__INGOT_INTEGER_LIMITS)
__INGOT_INTEGER_LIMITS(int8_t)
#undef __INGOT_INTEGER_LIMITS

#define __INGOT_FLOAT_LIMITS(T, P)                                                                 \
    template <> struct _numeric_limits_impl<T> : _fp_numeric_limits_impl_base {                    \
        static constexpr int digits = P##_MANT_DIG;                                                \
        static constexpr int digits10 = P##_DIG;                                                   \
        static constexpr int max_digits10 = P##_DECIMAL_DIG;                                       \
        static constexpr int min_exponent = P##_MIN_EXP;                                           \
        static constexpr int min_exponent10 = P##_MIN_10_EXP;                                      \
        static constexpr int max_exponent = P##_MAX_EXP;                                           \
        static constexpr int max_exponent10 = P##_MAX_10_EXP;                                      \
        static constexpr T max() {                                                                 \
            return P##_MAX;                                                                        \
        }                                                                                          \
        static constexpr T min() {                                                                 \
            return P##_MIN;                                                                        \
        }                                                                                          \
        static constexpr T lowest() {                                                              \
            return -P##_MAX;                                                                       \
        }                                                                                          \
        static constexpr T epsilon() {                                                             \
            return P##_EPSILON;                                                                    \
        }                                                                                          \
        static constexpr T round_error() {                                                         \
            return T(0.5f);                                                                        \
        }                                                                                          \
        static constexpr T infinity() {                                                            \
            return T(__builtin_inff());                                                            \
        }                                                                                          \
        static constexpr T quiet_NaN() {                                                           \
            return T(__builtin_nanf(""));                                                          \
        }                                                                                          \
        static constexpr T signaling_NaN() {                                                       \
            return T(__builtin_nanf(""));                                                          \
        }                                                                                          \
        static constexpr T denorm_min() {                                                          \
            return P##_TRUE_MIN;                                                                   \
        }                                                                                          \
    };
__INGOT_FLOAT_LIMITS(float, FLT)
__INGOT_FLOAT_LIMITS(half, HALF)
__INGOT_FLOAT_LIMITS(bfloat, BFLT)
#undef __INGOT_FLOAT_LIMITS

/* Of a vector: that of its components, in each of them. */
template <class T> struct __ingot_vector_limits : _numeric_limits_impl<make_scalar_t<T>> {
    using limits = _numeric_limits_impl<make_scalar_t<T>>;
#define __INGOT_LIMIT(name)                                                                        \
    static constexpr T name() {                                                                    \
        return T(limits::name());                                                                  \
    }
    __INGOT_LIMIT(min)
    __INGOT_LIMIT(max)
    __INGOT_LIMIT(lowest)
    __INGOT_LIMIT(epsilon)
    __INGOT_LIMIT(round_error)
    __INGOT_LIMIT(infinity)
    __INGOT_LIMIT(quiet_NaN)
    __INGOT_LIMIT(signaling_NaN)
    __INGOT_LIMIT(denorm_min)
#undef __INGOT_LIMIT
};

template <class T>
struct numeric_limits
    : conditional_t<is_vector_v<T>, __ingot_vector_limits<T>, _numeric_limits_impl<T>> {};
template <class T> struct numeric_limits<const T> : numeric_limits<T> {};
template <class T> struct numeric_limits<volatile T> : numeric_limits<T> {};
template <class T> struct numeric_limits<const volatile T> : numeric_limits<T> {};
} // namespace metal
