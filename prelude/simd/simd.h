/* The names that headers shared with the host use: vectors, matrices, functions of simd::. */
#pragma once
#define __INGOT_SIMD_NAME(T, N)                                                                    \
    typedef T##N simd_##T##N;                                                                      \
    typedef T##N vector_##T##N;                                                                    \
    namespace simd {                                                                               \
    using ::T##N;                                                                                  \
    }
#define __INGOT_SIMD_VECTORS(T)                                                                    \
    __INGOT_SIMD_NAME(T, 2)                                                                        \
    __INGOT_SIMD_NAME(T, 3)                                                                        \
    __INGOT_SIMD_NAME(T, 4)
#define __INGOT_SIMD_MATRIX(T, C)                                                                  \
    typedef metal::T##C##x2 simd_##T##C##x2;                                                       \
    typedef metal::T##C##x3 simd_##T##C##x3;                                                       \
    typedef metal::T##C##x4 simd_##T##C##x4;                                                       \
    typedef metal::T##C##x2 matrix_##T##C##x2;                                                     \
    typedef metal::T##C##x3 matrix_##T##C##x3;                                                     \
    typedef metal::T##C##x4 matrix_##T##C##x4;                                                     \
    namespace simd {                                                                               \
    using metal::T##C##x2;                                                                         \
    using metal::T##C##x3;                                                                         \
    using metal::T##C##x4;                                                                         \
    }
__INGOT_SIMD_VECTORS(char)
__INGOT_SIMD_VECTORS(uchar)
__INGOT_SIMD_VECTORS(short)
__INGOT_SIMD_VECTORS(ushort)
__INGOT_SIMD_VECTORS(int)
__INGOT_SIMD_VECTORS(uint)
__INGOT_SIMD_VECTORS(long)
__INGOT_SIMD_VECTORS(ulong)
__INGOT_SIMD_VECTORS(half)
__INGOT_SIMD_VECTORS(float)
__INGOT_SIMD_MATRIX(float, 2)
__INGOT_SIMD_MATRIX(float, 3)
__INGOT_SIMD_MATRIX(float, 4)
__INGOT_SIMD_MATRIX(half, 2)
__INGOT_SIMD_MATRIX(half, 3)
__INGOT_SIMD_MATRIX(half, 4)
namespace simd {
using namespace metal; /* simd::min, simd::length, … */
}
typedef float simd_float1;
typedef int simd_int1;
typedef uint simd_uint1;
typedef metal::packed_vec<float, 2> simd_packed_float2;
typedef metal::packed_vec<float, 4> simd_packed_float4;
#undef __INGOT_SIMD_NAME
#undef __INGOT_SIMD_VECTORS
#undef __INGOT_SIMD_MATRIX
