/*
 * Vectors and matrices as Metal programs share them with their kernels: the types of all scalars, and of float, half
 * and double the functions that compute programs call. The layout is that of Metal's types of the same name; vectors
 * of three have the size of four. For clang, in C, Objective-C and C++.
 *
 * Not there: geometry beyond what is below, quaternions, packed and unaligned types of more than four elements, and
 * vectors of more than four.
 */
#ifndef INGOT_METAL_SIMD_H
#define INGOT_METAL_SIMD_H

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#define SIMD_CFUNC static inline __attribute__((always_inline, overloadable, unused))

/* ---- vectors: simd_float3, vector_float3 and simd::float3 ---- */

#define SIMD_VECTORS(scalar, name)                                                                 \
    typedef scalar simd_##name##1;                                                                 \
    typedef __attribute__((ext_vector_type(2))) scalar simd_##name##2;                             \
    typedef __attribute__((ext_vector_type(3))) scalar simd_##name##3;                             \
    typedef __attribute__((ext_vector_type(4))) scalar simd_##name##4;                             \
    typedef simd_##name##2 vector_##name##2;                                                       \
    typedef simd_##name##3 vector_##name##3;                                                       \
    typedef simd_##name##4 vector_##name##4;                                                       \
    typedef __attribute__((ext_vector_type(2), aligned(sizeof(scalar)))) scalar                    \
        simd_packed_##name##2;                                                                     \
    typedef __attribute__((ext_vector_type(4), aligned(sizeof(scalar)))) scalar                    \
        simd_packed_##name##4;                                                                     \
    SIMD_CFUNC simd_##name##2 simd_make_##name##2(scalar x, scalar y) {                            \
        return (simd_##name##2){x, y};                                                             \
    }                                                                                              \
    SIMD_CFUNC simd_##name##3 simd_make_##name##3(scalar x, scalar y, scalar z) {                  \
        return (simd_##name##3){x, y, z};                                                          \
    }                                                                                              \
    SIMD_CFUNC simd_##name##3 simd_make_##name##3(simd_##name##2 xy, scalar z) {                   \
        return (simd_##name##3){xy.x, xy.y, z};                                                    \
    }                                                                                              \
    SIMD_CFUNC simd_##name##3 simd_make_##name##3(simd_##name##4 v) {                              \
        return v.xyz;                                                                              \
    }                                                                                              \
    SIMD_CFUNC simd_##name##4 simd_make_##name##4(scalar x, scalar y, scalar z, scalar w) {        \
        return (simd_##name##4){x, y, z, w};                                                       \
    }                                                                                              \
    SIMD_CFUNC simd_##name##4 simd_make_##name##4(simd_##name##3 xyz, scalar w) {                  \
        return (simd_##name##4){xyz.x, xyz.y, xyz.z, w};                                           \
    }                                                                                              \
    SIMD_CFUNC simd_##name##4 simd_make_##name##4(simd_##name##2 xy, simd_##name##2 zw) {          \
        return (simd_##name##4){xy.x, xy.y, zw.x, zw.y};                                           \
    }

#define SIMD_ALL_VECTORS(do)                                                                       \
    do(float, float) do(double, double) do(_Float16, half) do(int8_t, char) do(uint8_t, uchar)     \
    do(int16_t, short) do(uint16_t, ushort) do(int32_t, int) do(uint32_t, uint)                    \
    do(int64_t, long) do(uint64_t, ulong)
SIMD_ALL_VECTORS(SIMD_VECTORS)

/* ---- functions of vectors; each element by itself, or over all of them ---- */

#define SIMD_ELEMENTS(vector, scalar)                                                              \
    SIMD_CFUNC vector simd_min(vector a, vector b) {                                               \
        return __builtin_elementwise_min(a, b);                                                    \
    }                                                                                              \
    SIMD_CFUNC vector simd_max(vector a, vector b) {                                               \
        return __builtin_elementwise_max(a, b);                                                    \
    }                                                                                              \
    SIMD_CFUNC vector simd_clamp(vector x, vector low, vector high) {                              \
        return simd_min(simd_max(x, low), high);                                                   \
    }
#define SIMD_REAL(vector, scalar, n)                                                               \
    SIMD_ELEMENTS(vector, scalar)                                                                  \
    SIMD_CFUNC vector simd_abs(vector x) {                                                         \
        return __builtin_elementwise_abs(x);                                                       \
    }                                                                                              \
    SIMD_CFUNC scalar simd_reduce_add(vector x) {                                                  \
        scalar sum = x[0];                                                                         \
        for (int i = 1; i < n; i++) {                                                              \
            sum += x[i];                                                                           \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    SIMD_CFUNC scalar simd_dot(vector a, vector b) {                                               \
        return simd_reduce_add(a * b);                                                             \
    }                                                                                              \
    SIMD_CFUNC scalar simd_length_squared(vector x) {                                              \
        return simd_dot(x, x);                                                                     \
    }                                                                                              \
    SIMD_CFUNC scalar simd_length(vector x) {                                                      \
        return (scalar)sqrt(simd_dot(x, x));                                                       \
    }                                                                                              \
    SIMD_CFUNC scalar simd_distance(vector a, vector b) {                                          \
        return simd_length(a - b);                                                                 \
    }                                                                                              \
    SIMD_CFUNC vector simd_normalize(vector x) {                                                   \
        return x * ((scalar)1 / simd_length(x));                                                   \
    }                                                                                              \
    SIMD_CFUNC vector simd_mix(vector a, vector b, vector t) {                                     \
        return a + t * (b - a);                                                                    \
    }
#define SIMD_REALS(scalar, name)                                                                   \
    SIMD_REAL(simd_##name##2, scalar, 2)                                                           \
    SIMD_REAL(simd_##name##3, scalar, 3)                                                           \
    SIMD_REAL(simd_##name##4, scalar, 4)                                                           \
    SIMD_CFUNC simd_##name##3 simd_cross(simd_##name##3 a, simd_##name##3 b) {                     \
        return a.yzx * b.zxy - a.zxy * b.yzx;                                                      \
    }
#define SIMD_INTEGERS(scalar, name)                                                                \
    SIMD_ELEMENTS(simd_##name##2, scalar)                                                          \
    SIMD_ELEMENTS(simd_##name##3, scalar)                                                          \
    SIMD_ELEMENTS(simd_##name##4, scalar)
SIMD_REALS(float, float)
SIMD_REALS(double, double)
SIMD_INTEGERS(int32_t, int)
SIMD_INTEGERS(uint32_t, uint)

#define vector_dot       simd_dot
#define vector_length    simd_length
#define vector_normalize simd_normalize
#define vector_cross     simd_cross
#define vector_min       simd_min
#define vector_max       simd_max
#define vector_clamp     simd_clamp
#define vector_mix       simd_mix
#define vector_distance  simd_distance

/* ---- matrices: of `columns` vectors of `rows` elements ---- */

#define SIMD_MATRIX(name, columns_, rows_)                                                         \
    typedef struct {                                                                               \
        simd_##name##rows_ columns[columns_];                                                      \
    } simd_##name##columns_##x##rows_;                                                             \
    typedef simd_##name##columns_##x##rows_ matrix_##name##columns_##x##rows_;                     \
    SIMD_CFUNC simd_##name##rows_ simd_mul(simd_##name##columns_##x##rows_ m,                      \
                                           simd_##name##columns_ v) {                              \
        simd_##name##rows_ sum = m.columns[0] * v[0];                                              \
        for (int i = 1; i < columns_; i++) {                                                       \
            sum += m.columns[i] * v[i];                                                            \
        }                                                                                          \
        return sum;                                                                                \
    }
#define SIMD_SQUARE(name, n)                                                                       \
    SIMD_CFUNC simd_##name##n##x##n simd_mul(simd_##name##n##x##n a, simd_##name##n##x##n b) {     \
        simd_##name##n##x##n product;                                                              \
        for (int i = 0; i < n; i++) {                                                              \
            product.columns[i] = simd_mul(a, b.columns[i]);                                        \
        }                                                                                          \
        return product;                                                                            \
    }                                                                                              \
    SIMD_CFUNC simd_##name##n##x##n simd_transpose(simd_##name##n##x##n m) {                       \
        simd_##name##n##x##n result;                                                               \
        for (int i = 0; i < n; i++) {                                                              \
            for (int j = 0; j < n; j++) {                                                          \
                result.columns[i][j] = m.columns[j][i];                                            \
            }                                                                                      \
        }                                                                                          \
        return result;                                                                             \
    }                                                                                              \
    SIMD_CFUNC simd_##name##n##x##n simd_diagonal_matrix(simd_##name##n diagonal) {                \
        simd_##name##n##x##n result;                                                               \
        for (int i = 0; i < n; i++) {                                                              \
            result.columns[i] = (simd_##name##n)0;                                                 \
            result.columns[i][i] = diagonal[i];                                                    \
        }                                                                                          \
        return result;                                                                             \
    }
#define SIMD_MATRICES(name)                                                                        \
    SIMD_MATRIX(name, 2, 2) SIMD_MATRIX(name, 2, 3) SIMD_MATRIX(name, 2, 4)                        \
    SIMD_MATRIX(name, 3, 2) SIMD_MATRIX(name, 3, 3) SIMD_MATRIX(name, 3, 4)                        \
    SIMD_MATRIX(name, 4, 2) SIMD_MATRIX(name, 4, 3) SIMD_MATRIX(name, 4, 4)                        \
    SIMD_SQUARE(name, 2) SIMD_SQUARE(name, 3) SIMD_SQUARE(name, 4)                                 \
    SIMD_CFUNC simd_##name##2x2 simd_matrix(simd_##name##2 a, simd_##name##2 b) {                  \
        return (simd_##name##2x2){{a, b}};                                                         \
    }                                                                                              \
    SIMD_CFUNC simd_##name##3x3 simd_matrix(simd_##name##3 a, simd_##name##3 b,                    \
                                            simd_##name##3 c) {                                    \
        return (simd_##name##3x3){{a, b, c}};                                                      \
    }                                                                                              \
    SIMD_CFUNC simd_##name##4x4 simd_matrix(simd_##name##4 a, simd_##name##4 b, simd_##name##4 c,  \
                                            simd_##name##4 d) {                                    \
        return (simd_##name##4x4){{a, b, c, d}};                                                   \
    }
SIMD_MATRICES(float)
SIMD_MATRICES(double)

#define matrix_multiply        simd_mul
#define matrix_transpose       simd_transpose
#define matrix_identity_float2x2 simd_diagonal_matrix((simd_float2)1)
#define matrix_identity_float3x3 simd_diagonal_matrix((simd_float3)1)
#define matrix_identity_float4x4 simd_diagonal_matrix((simd_float4)1)

#ifdef __cplusplus
namespace simd {
#define SIMD_NAMES(scalar, name)                                                                   \
    using name##2 = simd_##name##2;                                                                \
    using name##3 = simd_##name##3;                                                                \
    using name##4 = simd_##name##4;                                                                \
    using packed_##name##2 = simd_packed_##name##2;                                                \
    using packed_##name##4 = simd_packed_##name##4;
SIMD_ALL_VECTORS(SIMD_NAMES)
#undef SIMD_NAMES
using float2x2 = simd_float2x2;
using float3x3 = simd_float3x3;
using float4x4 = simd_float4x4;
#define SIMD_FUNCTION(name)                                                                        \
    template <typename... Arguments>                                                               \
    inline auto name(Arguments... arguments) {                                                     \
        return simd_##name(arguments...);                                                          \
    }
SIMD_FUNCTION(dot)
SIMD_FUNCTION(length)
SIMD_FUNCTION(normalize)
SIMD_FUNCTION(cross)
SIMD_FUNCTION(distance)
SIMD_FUNCTION(transpose)
#undef SIMD_FUNCTION
} // namespace simd
#define SIMD_TIMES(matrix)                                                                         \
    template <typename Right>                                                                      \
    inline auto operator*(const matrix &m, const Right &right) {                                   \
        return simd_mul(m, right);                                                                 \
    }
SIMD_TIMES(simd_float2x2)
SIMD_TIMES(simd_float3x3)
SIMD_TIMES(simd_float4x4)
#undef SIMD_TIMES
#endif

#endif
