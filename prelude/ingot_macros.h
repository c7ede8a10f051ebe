/*
 * The macros of Metal's library: the only part of it that must be seen while the user's text is
 * preprocessed. __METAL_VERSION__ may be set on the command line.
 */
#pragma once

#define __METAL__ 1
#ifndef __METAL_VERSION__
#define __METAL_VERSION__ 320
#endif
#define __METAL_MACOS__           1
#define __HAVE_BFLOAT__           1
#define __HAVE_ATOMIC__           1
#define __HAVE_SIMDGROUP__        1
#define __HAVE_SIMDGROUP_MATRIX__ 1
#define __INGOT__                 1
#if __METAL_VERSION__ >= 400
#define __HAVE_TENSOR__             1
#define __HAVE_COOPERATIVE_TENSOR__ 1
#define __HAVE_INT4B_FORMAT_TYPE__  1
#endif

/* What clang defines by itself: preprocessing starts without. */
#ifndef __LITTLE_ENDIAN__
#define __LITTLE_ENDIAN__ 1
#endif
#ifndef __CHAR_BIT__
#define __ORDER_LITTLE_ENDIAN__ 1234
#define __ORDER_BIG_ENDIAN__    4321
#define __BYTE_ORDER__          __ORDER_LITTLE_ENDIAN__
#define __CHAR_BIT__            8
#define __SCHAR_MAX__           127
#define __SHRT_MAX__            32767
#define __INT_MAX__             2147483647
#define __LONG_MAX__            9223372036854775807L
#define __SIZEOF_SHORT__        2
#define __SIZEOF_INT__          4
#define __SIZEOF_LONG__         8
#define __SIZEOF_FLOAT__        4
#define __SIZEOF_POINTER__      8
#endif

#define METAL_FUNC     inline __attribute__((always_inline))
#define METAL_INTERNAL inline __attribute__((always_inline))
#define METAL_CONST    __attribute__((const))
#define METAL_PURE     __attribute__((pure))
#define METAL_ASM(...) __asm(__VA_ARGS__)
#define METAL_VALID_ARGS(...)

/* The last operand of __metal_exp(x, mode) and its like. */
#define __METAL_MAYBE_FAST_MATH__ (__ingot_fast_math())
#define __METAL_FAST_MATH__       true
#define __METAL_PRECISE_MATH__    false

#define assert(condition)         ((void)0)
#define offsetof(type, member)    __builtin_offsetof(type, member)

/* ---- floating point ------------------------------------------------------------------------- */
#define INFINITY         (__builtin_inff())
#define NAN              (__builtin_nanf(""))
#define HUGE_VALF        (__builtin_inff())
#define HUGE_VALH        ((_Float16)__builtin_inff())
#define HUGE_VALBF       ((__bf16)__builtin_inff())
#define MAXFLOAT         3.402823466e+38f
#define MAXHALF          ((_Float16)65504.0f)
#define MAXBFLOAT        ((__bf16)3.38953139e+38f)
#define FP_ILOGB0        (-2147483647 - 1)
#define FP_ILOGBNAN      (-2147483647 - 1)

#define FLT_DIG          6
#define FLT_MANT_DIG     24
#define FLT_MAX_10_EXP   38
#define FLT_MAX_EXP      128
#define FLT_MIN_10_EXP   (-37)
#define FLT_MIN_EXP      (-125)
#define FLT_RADIX        2
#define FLT_MAX          3.402823466e+38f
#define FLT_MIN          1.175494351e-38f
#define FLT_EPSILON      1.192092896e-07f
#define FLT_TRUE_MIN     1.401298464e-45f
#define FLT_DECIMAL_DIG  9

#define HALF_DIG         2
#define HALF_MANT_DIG    11
#define HALF_MAX_10_EXP  4
#define HALF_MAX_EXP     16
#define HALF_MIN_10_EXP  (-4)
#define HALF_MIN_EXP     (-13)
#define HALF_RADIX       2
#define HALF_MAX         ((_Float16)65504.0f)
#define HALF_MIN         ((_Float16)6.103515625e-05f)
#define HALF_EPSILON     ((_Float16)0.0009765625f)
#define HALF_TRUE_MIN    ((_Float16)5.9604644775e-08f)
#define HALF_DECIMAL_DIG 5

#define BFLT_DIG         2
#define BFLT_MANT_DIG    8
#define BFLT_MAX_10_EXP  38
#define BFLT_MAX_EXP     128
#define BFLT_MIN_10_EXP  (-37)
#define BFLT_MIN_EXP     (-125)
#define BFLT_RADIX       2
#define BFLT_MAX         ((__bf16)3.38953139e+38f)
#define BFLT_MIN         ((__bf16)1.175494351e-38f)
#define BFLT_EPSILON     ((__bf16)0.0078125f)
#define BFLT_TRUE_MIN    ((__bf16)9.18354962e-41f)
#define BFLT_DECIMAL_DIG 4

/* ---- integers ------------------------------------------------------------------------------- */
#define CHAR_BIT   8
#define SCHAR_MAX  127
#define SCHAR_MIN  (-128)
#define UCHAR_MAX  255
#define CHAR_MAX   127
#define CHAR_MIN   (-128)
#define SHRT_MAX   32767
#define SHRT_MIN   (-32768)
#define USHRT_MAX  65535
#define INT_MAX    2147483647
#define INT_MIN    (-2147483647 - 1)
#define UINT_MAX   4294967295u
#define LONG_MAX   9223372036854775807L
#define LONG_MIN   (-9223372036854775807L - 1)
#define ULONG_MAX  18446744073709551615UL
#define INT8_MAX   127
#define INT8_MIN   (-128)
#define UINT8_MAX  255
#define INT16_MAX  32767
#define INT16_MIN  (-32768)
#define UINT16_MAX 65535
#define INT32_MAX  2147483647
#define INT32_MIN  (-2147483647 - 1)
#define UINT32_MAX 4294967295u
#define INT64_MAX  9223372036854775807L
#define INT64_MIN  (-9223372036854775807L - 1)
#define UINT64_MAX 18446744073709551615UL

/* ---- mathematical constants: float, half, bfloat -------------------------------------------- */
#define M_E_F         2.718281828459045f
#define M_E_H         ((_Float16)2.718281828459045f)
#define M_E_BF        ((__bf16)2.718281828459045f)
#define M_LOG2E_F     1.4426950408889634f
#define M_LOG2E_H     ((_Float16)1.4426950408889634f)
#define M_LOG2E_BF    ((__bf16)1.4426950408889634f)
#define M_LOG10E_F    0.43429448190325176f
#define M_LOG10E_H    ((_Float16)0.43429448190325176f)
#define M_LOG10E_BF   ((__bf16)0.43429448190325176f)
#define M_LN2_F       0.6931471805599453f
#define M_LN2_H       ((_Float16)0.6931471805599453f)
#define M_LN2_BF      ((__bf16)0.6931471805599453f)
#define M_LN10_F      2.302585092994046f
#define M_LN10_H      ((_Float16)2.302585092994046f)
#define M_LN10_BF     ((__bf16)2.302585092994046f)
#define M_PI_F        3.141592653589793f
#define M_PI_H        ((_Float16)3.141592653589793f)
#define M_PI_BF       ((__bf16)3.141592653589793f)
#define M_PI_2_F      1.5707963267948966f
#define M_PI_2_H      ((_Float16)1.5707963267948966f)
#define M_PI_2_BF     ((__bf16)1.5707963267948966f)
#define M_PI_4_F      0.7853981633974483f
#define M_PI_4_H      ((_Float16)0.7853981633974483f)
#define M_PI_4_BF     ((__bf16)0.7853981633974483f)
#define M_1_PI_F      0.3183098861837907f
#define M_1_PI_H      ((_Float16)0.3183098861837907f)
#define M_1_PI_BF     ((__bf16)0.3183098861837907f)
#define M_2_PI_F      0.6366197723675814f
#define M_2_PI_H      ((_Float16)0.6366197723675814f)
#define M_2_PI_BF     ((__bf16)0.6366197723675814f)
#define M_2_SQRTPI_F  1.1283791670955126f
#define M_2_SQRTPI_H  ((_Float16)1.1283791670955126f)
#define M_2_SQRTPI_BF ((__bf16)1.1283791670955126f)
#define M_SQRT2_F     1.4142135623730951f
#define M_SQRT2_H     ((_Float16)1.4142135623730951f)
#define M_SQRT2_BF    ((__bf16)1.4142135623730951f)
#define M_SQRT1_2_F   0.7071067811865476f
#define M_SQRT1_2_H   ((_Float16)0.7071067811865476f)
#define M_SQRT1_2_BF  ((__bf16)0.7071067811865476f)
