/*
 * The scalar functions of Apple's compiled libraries, under the names that Apple's compiler calls them by
 * ("air.rsqrt.f32"). Compiled once, when ingot is built (ingotc --emit library); frontend/air links what a kernel calls.
 * Functions that are a built-in under another name are taken from src/compiler/ir/air_spellings.def before this file is
 * asked. Vectors, atomics and simdgroup_matrix are not here: frontend/air makes them of these functions and of built-ins.
 */
#include <metal_stdlib>
using namespace metal;

#define AIR_NUMBERED(n, R, symbol, parameters, value)                                                                  \
    __attribute__((used)) R __ingot_air_##n parameters __asm(symbol);                                                  \
    __attribute__((used)) R __ingot_air_##n parameters { return value; }
#define AIR_EXPANDED(n, R, symbol, parameters, value) AIR_NUMBERED(n, R, symbol, parameters, value)
#define AIR(R, symbol, parameters, value) AIR_EXPANDED(__COUNTER__, R, symbol, parameters, value)

/* ---- maths ---- */
#define MATHS_1(f)                                                                                                     \
    AIR(float, "air." #f ".f32", (float x), precise::f(x))                                                             \
    AIR(float, "air.fast_" #f ".f32", (float x), fast::f(x))                                                           \
    AIR(half, "air." #f ".f16", (half x), f(x))
MATHS_1(acos) MATHS_1(acosh) MATHS_1(asin) MATHS_1(asinh) MATHS_1(atan) MATHS_1(atanh) MATHS_1(ceil)
MATHS_1(cos) MATHS_1(cosh) MATHS_1(cospi) MATHS_1(exp) MATHS_1(exp10) MATHS_1(exp2) MATHS_1(fabs)
MATHS_1(floor) MATHS_1(fract) MATHS_1(log) MATHS_1(log10) MATHS_1(log2) MATHS_1(rint) MATHS_1(round)
MATHS_1(rsqrt) MATHS_1(sin) MATHS_1(sinh) MATHS_1(sinpi) MATHS_1(sqrt) MATHS_1(tan) MATHS_1(tanh)
MATHS_1(tanpi) MATHS_1(trunc)

#define MATHS_2(f)                                                                                                     \
    AIR(float, "air." #f ".f32", (float x, float y), precise::f(x, y))                                                 \
    AIR(float, "air.fast_" #f ".f32", (float x, float y), fast::f(x, y))                                               \
    AIR(half, "air." #f ".f16", (half x, half y), f(x, y))
MATHS_2(atan2) MATHS_2(copysign) MATHS_2(fdim) MATHS_2(fmax) MATHS_2(fmin) MATHS_2(fmod) MATHS_2(nextafter)
MATHS_2(pow) MATHS_2(powr)

#define MATHS_MORE(T, t)                                                                                               \
    AIR(T, "air.fma." t, (T x, T y, T z), fma(x, y, z))                                                                \
    AIR(T, "air.clamp." t, (T x, T y, T z), clamp(x, y, z))                                                            \
    AIR(T, "air.mix." t, (T x, T y, T z), mix(x, y, z))                                                                \
    AIR(T, "air.ldexp." t, (T x, int y), ldexp(x, y))                                                                  \
    AIR(T, "air.frexp." t, (T x, thread int *y), frexp(x, *y))                                                         \
    AIR(T, "air.modf." t, (T x, thread T *y), modf(x, *y))                                                             \
    AIR(T, "air.sincos." t, (T x, thread T *y), sincos(x, *y))                                                         \
    AIR(T, "air.sign." t, (T x), sign(x))                                                                              \
    AIR(T, "air.saturate." t, (T x), saturate(x))                                                                      \
    AIR(T, "air.step." t, (T x, T y), step(x, y))
MATHS_MORE(float, "f32")
MATHS_MORE(half, "f16")
AIR(float, "air.fast_clamp.f32", (float x, float y, float z), fast::clamp(x, y, z))
AIR(float, "air.fast_saturate.f32", (float x), saturate(x))
AIR(float, "air.fast_sincos.f32", (float x, thread float *y), fast::sincos(x, *y))

/* ---- integers ---- */
#define INTEGERS(T, t)                                                                                                 \
    AIR(T, "air.min." t, (T x, T y), min(x, y))                                                                        \
    AIR(T, "air.max." t, (T x, T y), max(x, y))                                                                        \
    AIR(T, "air.clamp." t, (T x, T y, T z), clamp(x, y, z))                                                            \
    AIR(T, "air.abs." t, (T x), abs(x))                                                                                \
    AIR(T, "air.mul_hi." t, (T x, T y), mulhi(x, y))                                                                   \
    AIR(T, "air.add_sat." t, (T x, T y), addsat(x, y))                                                                 \
    AIR(T, "air.sub_sat." t, (T x, T y), subsat(x, y))
INTEGERS(char, "s.i8") INTEGERS(uchar, "u.i8") INTEGERS(short, "s.i16") INTEGERS(ushort, "u.i16")
INTEGERS(int, "s.i32") INTEGERS(uint, "u.i32") INTEGERS(long, "s.i64") INTEGERS(ulong, "u.i64")

#define BITS(T, t)                                                                                                     \
    AIR(T, "air.clz." t, (T x, bool), clz(x))                                                                          \
    AIR(T, "air.ctz." t, (T x, bool), ctz(x))                                                                          \
    AIR(T, "air.popcount." t, (T x), popcount(x))                                                                      \
    AIR(T, "air.reverse_bits." t, (T x), reverse_bits(x))                                                              \
    AIR(T, "air.rotate." t, (T x, T y), rotate(x, y))
BITS(uchar, "i8") BITS(ushort, "i16") BITS(uint, "i32") BITS(ulong, "i64")

/* ---- conversions ---- */
#define CONVERT(D, d, S, s) AIR(D, "air.convert." d "." s, (S x), (D)x)
#define CONVERT_FROM(S, s)                                                                                             \
    CONVERT(float, "f.f32", S, s) CONVERT(half, "f.f16", S, s) CONVERT(bfloat, "f.bf16", S, s)                         \
    CONVERT(bool, "u.i1", S, s) CONVERT(char, "s.i8", S, s) CONVERT(uchar, "u.i8", S, s)                               \
    CONVERT(short, "s.i16", S, s) CONVERT(ushort, "u.i16", S, s) CONVERT(int, "s.i32", S, s)                           \
    CONVERT(uint, "u.i32", S, s) CONVERT(long, "s.i64", S, s) CONVERT(ulong, "u.i64", S, s)
CONVERT_FROM(float, "f.f32") CONVERT_FROM(half, "f.f16") CONVERT_FROM(bfloat, "f.bf16") CONVERT_FROM(bool, "u.i1")
CONVERT_FROM(char, "s.i8") CONVERT_FROM(uchar, "u.i8") CONVERT_FROM(short, "s.i16") CONVERT_FROM(ushort, "u.i16")
CONVERT_FROM(int, "s.i32") CONVERT_FROM(uint, "u.i32") CONVERT_FROM(long, "s.i64") CONVERT_FROM(ulong, "u.i64")

/* ---- lanes ---- */
#define MOVES_OF(p, T, t)                                                                                              \
    AIR(T, "air." #p "_shuffle." t, (T x, ushort lane), p##_shuffle(x, lane))                                          \
    AIR(T, "air." #p "_shuffle_up." t, (T x, ushort by), p##_shuffle_up(x, by))                                        \
    AIR(T, "air." #p "_shuffle_down." t, (T x, ushort by), p##_shuffle_down(x, by))                                    \
    AIR(T, "air." #p "_shuffle_xor." t, (T x, ushort mask), p##_shuffle_xor(x, mask))                                  \
    AIR(T, "air." #p "_shuffle_rotate_up." t, (T x, ushort by), p##_shuffle_rotate_up(x, by))                          \
    AIR(T, "air." #p "_shuffle_rotate_down." t, (T x, ushort by), p##_shuffle_rotate_down(x, by))                      \
    AIR(T, "air." #p "_broadcast." t, (T x, ushort lane), p##_broadcast(x, lane))                                      \
    AIR(T, "air." #p "_broadcast_first." t, (T x), p##_broadcast_first(x))                                             \
    AIR(T, "air." #p "_shuffle_and_fill_up." t, (T x, T y, ushort by, ushort m), p##_shuffle_and_fill_up(x, y, by, m)) \
    AIR(T, "air." #p "_shuffle_and_fill_down." t, (T x, T y, ushort by, ushort m),                                     \
        p##_shuffle_and_fill_down(x, y, by, m))
#define MOVES(T, t) MOVES_OF(simd, T, t) MOVES_OF(quad, T, t)
MOVES(float, "f32") MOVES(half, "f16") MOVES(bfloat, "bf16") MOVES(char, "s.i8") MOVES(uchar, "u.i8")
MOVES(short, "s.i16") MOVES(ushort, "u.i16") MOVES(int, "s.i32") MOVES(uint, "u.i32")

#define REDUCTIONS_OF(p, T, t)                                                                                         \
    AIR(T, "air." #p "_sum." t, (T x), p##_sum(x))                                                                     \
    AIR(T, "air." #p "_product." t, (T x), p##_product(x))                                                             \
    AIR(T, "air." #p "_min." t, (T x), p##_min(x))                                                                     \
    AIR(T, "air." #p "_max." t, (T x), p##_max(x))                                                                     \
    AIR(T, "air." #p "_prefix_inclusive_sum." t, (T x), p##_prefix_inclusive_sum(x))                                   \
    AIR(T, "air." #p "_prefix_exclusive_sum." t, (T x), p##_prefix_exclusive_sum(x))                                   \
    AIR(T, "air." #p "_prefix_inclusive_product." t, (T x), p##_prefix_inclusive_product(x))                           \
    AIR(T, "air." #p "_prefix_exclusive_product." t, (T x), p##_prefix_exclusive_product(x))
#define REDUCTIONS(T, t) REDUCTIONS_OF(simd, T, t) REDUCTIONS_OF(quad, T, t)
REDUCTIONS(float, "f32") REDUCTIONS(half, "f16") REDUCTIONS(char, "s.i8") REDUCTIONS(uchar, "u.i8")
REDUCTIONS(short, "s.i16") REDUCTIONS(ushort, "u.i16") REDUCTIONS(int, "s.i32") REDUCTIONS(uint, "u.i32")

#define BITWISE_OF(p, T, t)                                                                                            \
    AIR(T, "air." #p "_and." t, (T x), p##_and(x))                                                                     \
    AIR(T, "air." #p "_or." t, (T x), p##_or(x))                                                                       \
    AIR(T, "air." #p "_xor." t, (T x), p##_xor(x))
#define BITWISE(T, t) BITWISE_OF(simd, T, t) BITWISE_OF(quad, T, t)
BITWISE(char, "s.i8") BITWISE(uchar, "u.i8") BITWISE(short, "s.i16") BITWISE(ushort, "u.i16")
BITWISE(int, "s.i32") BITWISE(uint, "u.i32")

AIR(bool, "air.simd_all", (bool x), simd_all(x))
AIR(bool, "air.simd_any", (bool x), simd_any(x))
AIR(bool, "air.quad_all", (bool x), quad_all(x))
AIR(bool, "air.quad_any", (bool x), quad_any(x))
AIR(bool, "air.simd_is_first", (), simd_is_first())
AIR(bool, "air.quad_is_first", (), quad_is_first())
AIR(ulong, "air.simd_ballot.i64", (bool x), (ulong)__ingot_simd_ballot(x))
AIR(uint, "air.simd_ballot.i32", (bool x), __ingot_simd_ballot(x))
AIR(ulong, "air.simd_active_threads_mask.i64", (), (ulong)__ingot_simd_ballot(true))
AIR(ushort, "air.get_simdgroup_size.i16", (), 32)
AIR(uint, "air.get_simdgroup_size.i32", (), 32)
AIR(ushort, "air.get_thread_index_in_simdgroup.i16", (), (ushort)__ingot_thread_index_in_simdgroup())
AIR(uint, "air.get_thread_index_in_simdgroup.i32", (), __ingot_thread_index_in_simdgroup())

/* ---- synchronisation: Apple's flags are mem_flags; the second operand is a scope that barriers have by their name ---- */
AIR(void, "air.wg.barrier", (uint flags, uint), __ingot_barrier(2, flags))
AIR(void, "air.simdgroup.barrier", (uint flags, uint), __ingot_barrier(1, flags))
AIR(void, "air.atomic.fence", (uint flags, uint order, uint scope), __ingot_fence(flags, order, scope))

/* ---- hints, and what is a constant in the end ---- */
#define UNIFORM(T, t) AIR(bool, "air.is_uniform." t, (T), true)
UNIFORM(float, "f32") UNIFORM(half, "f16") UNIFORM(bfloat, "bf16") UNIFORM(bool, "i1") UNIFORM(uchar, "i8")
UNIFORM(ushort, "i16") UNIFORM(uint, "i32") UNIFORM(ulong, "i64")
AIR(uchar, "air.normalize_function_constant_predicate.i8", (uchar x), x != 0)

/* ---- Metal 4 ---- */
#include "tensor_functions.metal"
