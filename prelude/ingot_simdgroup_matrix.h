/*
 * simdgroup_matrix<T, 8, 8> for float, half and bfloat. Each lane holds two elements, in Apple's
 * layout (see ingot_builtins.h), which thread_elements() shows. Sums run in float.
 */
#pragma once
#include "ingot_types.h"

namespace metal {
template <class T, int Cols, int Rows> struct simdgroup_matrix {
    static_assert(Cols == 8 && Rows == 8, "simdgroup_matrix is 8 by 8");
    static_assert(__is_floating_point(T), "simdgroup_matrix holds float, half or bfloat");
    using storage_type = vec<T, 2>;
    vec<T, 2> __elements;

    simdgroup_matrix() = default;
    /* The diagonal. */
    __ingot_inline explicit simdgroup_matrix(T s) {
        uint lane = __ingot_thread_index_in_simdgroup();
        uint row = (lane >> 4 & 1u) * 4u + (lane >> 1 & 3u);
        uint column = (lane >> 3 & 1u) * 4u + (lane & 1u) * 2u;
        __elements = vec<T, 2>(row == column ? s : T(0), row == column + 1u ? s : T(0));
    }
    __ingot_inline vec<T, 2> &thread_elements() {
        return __elements;
    }
    __ingot_inline const vec<T, 2> &thread_elements() const {
        return __elements;
    }
    template <class U>
    friend __ingot_inline auto operator*(simdgroup_matrix a, simdgroup_matrix<U, 8, 8> b) {
        simdgroup_matrix<conditional_t<__is_same(T, U), T, float>, 8, 8> d;
        simdgroup_multiply(d, a, b);
        return d;
    }
};
typedef simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;

template <class T, int Cols, int Rows = Cols>
__ingot_inline simdgroup_matrix<T, Cols, Rows>
make_filled_simdgroup_matrix(type_identity_t<T> value) {
    simdgroup_matrix<T, Cols, Rows> m;
    m.__elements = vec<T, 2>(value);
    return m;
}
template <class T, int Cols, int Rows = Cols>
__ingot_inline simdgroup_matrix<T, Cols, Rows>
make_diagonal_simdgroup_matrix(type_identity_t<T> value) {
    return simdgroup_matrix<T, Cols, Rows>(value);
}

template <class D, class A, class B, class C>
__ingot_inline void
simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8> &d, simdgroup_matrix<A, 8, 8> a,
                              simdgroup_matrix<B, 8, 8> b, simdgroup_matrix<C, 8, 8> c) {
    float a0 = (float)a.__elements.x, a1 = (float)a.__elements.y;
    float b0 = (float)b.__elements.x, b1 = (float)b.__elements.y;
    float d0 = __ingot_simdgroup_mma(a0, a1, b0, b1, (float)c.__elements.x, 0);
    float d1 = __ingot_simdgroup_mma(a0, a1, b0, b1, (float)c.__elements.y, 1);
    d.__elements = vec<D, 2>((D)d0, (D)d1);
}
template <class D, class A, class B>
__ingot_inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8> &d, simdgroup_matrix<A, 8, 8> a,
                                       simdgroup_matrix<B, 8, 8> b) {
    simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<float, 8, 8>(0.0f));
}
/* Row y, column x of the origin in memory. */
template <class P> __ingot_inline P __ingot_tile(P p, ulong elements_per_row, ulong2 origin) {
    return p + (origin.y * elements_per_row + origin.x);
}
#define __INGOT_SIMDGROUP_MEMORY(space, name)                                                      \
    template <class T>                                                                             \
    __ingot_inline void simdgroup_load(simdgroup_matrix<T, 8, 8> &d, const space T *source,        \
                                       ulong elements_per_row = 8, ulong2 origin = ulong2(0),      \
                                       bool transpose = false) {                                   \
        const space T *p = __ingot_tile(source, elements_per_row, origin);                         \
        if constexpr (sizeof(T) == 4) {                                                            \
            const space uint *q = (const space uint *)p;                                           \
            uint e0 = __ingot_simdgroup_load_##name##_b32(q, elements_per_row, transpose, 0);      \
            uint e1 = __ingot_simdgroup_load_##name##_b32(q, elements_per_row, transpose, 1);      \
            d.__elements = vec<T, 2>(__builtin_bit_cast(T, e0), __builtin_bit_cast(T, e1));        \
        } else {                                                                                   \
            const space ushort *q = (const space ushort *)p;                                       \
            ushort e0 = __ingot_simdgroup_load_##name##_b16(q, elements_per_row, transpose, 0);    \
            ushort e1 = __ingot_simdgroup_load_##name##_b16(q, elements_per_row, transpose, 1);    \
            d.__elements = vec<T, 2>(__builtin_bit_cast(T, e0), __builtin_bit_cast(T, e1));        \
        }                                                                                          \
    }                                                                                              \
    template <class T>                                                                             \
    __ingot_inline void simdgroup_store(simdgroup_matrix<T, 8, 8> s, space T *destination,         \
                                        ulong elements_per_row = 8, ulong2 origin = ulong2(0),     \
                                        bool transpose = false) {                                  \
        space T *p = __ingot_tile(destination, elements_per_row, origin);                          \
        T e0 = s.__elements.x, e1 = s.__elements.y;                                                \
        if constexpr (sizeof(T) == 4) {                                                            \
            __ingot_simdgroup_store_##name##_b32((space uint *)p, elements_per_row, transpose,     \
                                                 __builtin_bit_cast(uint, e0),                     \
                                                 __builtin_bit_cast(uint, e1));                    \
        } else {                                                                                   \
            __ingot_simdgroup_store_##name##_b16((space ushort *)p, elements_per_row, transpose,   \
                                                 __builtin_bit_cast(ushort, e0),                   \
                                                 __builtin_bit_cast(ushort, e1));                  \
        }                                                                                          \
    }
__INGOT_SIMDGROUP_MEMORY(__ingot_device, device)
__INGOT_SIMDGROUP_MEMORY(__ingot_threadgroup, threadgroup)
#undef __INGOT_SIMDGROUP_MEMORY
} // namespace metal
