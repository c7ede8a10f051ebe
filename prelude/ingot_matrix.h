/*
 * matrix<T, C, R>: C columns of R rows, stored by columns; float and half.
 */
#pragma once
#include "ingot_types.h"

namespace metal {
template <class T, int C, int R> struct matrix {
    vec<T, R> columns[C];

    matrix() = default;
    /* The diagonal. */
    __ingot_inline explicit constexpr matrix(T s) : matrix(diagonal(s), make_index_sequence<C>()) {}
    __ingot_inline constexpr matrix(vec<T, R> a, vec<T, R> b) : columns{a, b} {}
    __ingot_inline constexpr matrix(vec<T, R> a, vec<T, R> b, vec<T, R> c) : columns{a, b, c} {}
    __ingot_inline constexpr matrix(vec<T, R> a, vec<T, R> b, vec<T, R> c, vec<T, R> d)
        : columns{a, b, c, d} {}
    template <class... U, class = enable_if_t<sizeof...(U) + 2 == C * R>>
    __ingot_inline constexpr matrix(T a, T b, U... rest)
        : matrix(elements{{a, b, (T)rest...}}, make_index_sequence<C>()) {}
    template <class U>
    __ingot_inline explicit constexpr matrix(matrix<U, C, R> o)
        : matrix(o, make_index_sequence<C>()) {}
#if __cplusplus > 202002L
#define __INGOT_MATRIX_COLUMN(SPACE)                                                               \
    __ingot_inline SPACE vec<T, R> &operator[](this SPACE matrix &self, size_t i) {                \
        return self.columns[i];                                                                    \
    }
    /* The front end asks for C++23 where a source names a matrix: its columns keep its address
     * space then. */
    __INGOT_MATRIX_COLUMN()
    __INGOT_MATRIX_COLUMN(const)
    __INGOT_MATRIX_COLUMN(__ingot_device)
    __INGOT_MATRIX_COLUMN(const __ingot_device)
    __INGOT_MATRIX_COLUMN(__ingot_threadgroup)
    __INGOT_MATRIX_COLUMN(const __ingot_threadgroup)
    __INGOT_MATRIX_COLUMN(__ingot_constant)
#undef __INGOT_MATRIX_COLUMN
#else
    __ingot_inline vec<T, R> &operator[](size_t i) {
        return columns[i];
    }
    __ingot_inline const vec<T, R> &operator[](size_t i) const {
        return columns[i];
    }
#endif

    friend __ingot_inline matrix operator+(matrix a, matrix b) {
        for (int i = 0; i < C; i++) {
            a.columns[i] += b.columns[i];
        }
        return a;
    }
    friend __ingot_inline matrix operator-(matrix a, matrix b) {
        for (int i = 0; i < C; i++) {
            a.columns[i] -= b.columns[i];
        }
        return a;
    }
    friend __ingot_inline matrix operator-(matrix a) {
        for (int i = 0; i < C; i++) {
            a.columns[i] = -a.columns[i];
        }
        return a;
    }
    friend __ingot_inline matrix operator*(matrix a, T s) {
        for (int i = 0; i < C; i++) {
            a.columns[i] *= s;
        }
        return a;
    }
    friend __ingot_inline matrix operator*(T s, matrix a) {
        return a * s;
    }
    friend __ingot_inline matrix operator/(matrix a, T s) {
        for (int i = 0; i < C; i++) {
            a.columns[i] /= s;
        }
        return a;
    }
    friend __ingot_inline vec<T, R> operator*(matrix a, vec<T, C> b) {
        vec<T, R> r = a.columns[0] * vec<T, R>(b[0]);
        for (int i = 1; i < C; i++) {
            r += a.columns[i] * vec<T, R>(b[i]);
        }
        return r;
    }
    friend __ingot_inline vec<T, C> operator*(vec<T, R> a, matrix b) {
        vec<T, C> r;
        for (int i = 0; i < C; i++) {
            vec<T, R> p = a * b.columns[i];
            T s = p[0];
            for (int j = 1; j < R; j++) {
                s += p[j];
            }
            r[i] = s;
        }
        return r;
    }
    template <int K> friend __ingot_inline matrix<T, K, R> operator*(matrix a, matrix<T, K, C> b) {
        matrix<T, K, R> r;
        for (int i = 0; i < K; i++) {
            r.columns[i] = a * b.columns[i];
        }
        return r;
    }
    friend __ingot_inline bool operator==(matrix a, matrix b) {
        bool same = true;
        for (int i = 0; i < C; i++) {
            for (int j = 0; j < R; j++) {
                same = same && a.columns[i][j] == b.columns[i][j];
            }
        }
        return same;
    }
    friend __ingot_inline bool operator!=(matrix a, matrix b) {
        return !(a == b);
    }
    __ingot_inline matrix &operator+=(matrix b) {
        return *this = *this + b;
    }
    __ingot_inline matrix &operator-=(matrix b) {
        return *this = *this - b;
    }
    __ingot_inline matrix &operator*=(T s) {
        return *this = *this * s;
    }
    __ingot_inline matrix &operator/=(T s) {
        return *this = *this / s;
    }
    __ingot_inline matrix &operator*=(matrix<T, C, C> b) {
        return *this = *this * b;
    }

  private:
    /* All elements, column by column. */
    struct elements {
        T e[C * R];
    };
    static __ingot_inline constexpr elements diagonal(T s) {
        elements all = {};
        for (int i = 0; i < C && i < R; i++) {
            all.e[i * R + i] = s;
        }
        return all;
    }
    static __ingot_inline constexpr vec<T, R> column(const T *e) {
        if constexpr (R == 2) {
            return vec<T, R>(e[0], e[1]);
        } else if constexpr (R == 3) {
            return vec<T, R>(e[0], e[1], e[2]);
        } else {
            return vec<T, R>(e[0], e[1], e[2], e[3]);
        }
    }
    template <size_t... I>
    __ingot_inline constexpr matrix(elements all, index_sequence<I...>)
        : columns{column(all.e + I * R)...} {}
    template <class U, size_t... I>
    __ingot_inline constexpr matrix(const matrix<U, C, R> &o, index_sequence<I...>)
        : columns{vec<T, R>(o.columns[I])...} {}
};

template <class T, int C, int R> __ingot_inline matrix<T, R, C> transpose(matrix<T, C, R> a) {
    matrix<T, R, C> r;
    for (int i = 0; i < C; i++) {
        for (int j = 0; j < R; j++) {
            r.columns[j][i] = a.columns[i][j];
        }
    }
    return r;
}

template <class T> __ingot_inline T determinant(matrix<T, 2, 2> m) {
    return m[0][0] * m[1][1] - m[1][0] * m[0][1];
}
template <class T> __ingot_inline T determinant(matrix<T, 3, 3> m) {
    return m[0][0] * (m[1][1] * m[2][2] - m[2][1] * m[1][2]) -
           m[1][0] * (m[0][1] * m[2][2] - m[2][1] * m[0][2]) +
           m[2][0] * (m[0][1] * m[1][2] - m[1][1] * m[0][2]);
}
template <class T> __ingot_inline T determinant(matrix<T, 4, 4> m) {
    /* Laplace expansion by 2×2 minors of columns 0, 1 and of columns 2, 3. */
    T a0 = m[0][0] * m[1][1] - m[0][1] * m[1][0];
    T a1 = m[0][0] * m[1][2] - m[0][2] * m[1][0];
    T a2 = m[0][0] * m[1][3] - m[0][3] * m[1][0];
    T a3 = m[0][1] * m[1][2] - m[0][2] * m[1][1];
    T a4 = m[0][1] * m[1][3] - m[0][3] * m[1][1];
    T a5 = m[0][2] * m[1][3] - m[0][3] * m[1][2];
    T b0 = m[2][0] * m[3][1] - m[2][1] * m[3][0];
    T b1 = m[2][0] * m[3][2] - m[2][2] * m[3][0];
    T b2 = m[2][0] * m[3][3] - m[2][3] * m[3][0];
    T b3 = m[2][1] * m[3][2] - m[2][2] * m[3][1];
    T b4 = m[2][1] * m[3][3] - m[2][3] * m[3][1];
    T b5 = m[2][2] * m[3][3] - m[2][3] * m[3][2];
    return a0 * b5 - a1 * b4 + a2 * b3 + a3 * b2 - a4 * b1 + a5 * b0;
}

#define __INGOT_MATRIX_NAME(T, C, R) typedef matrix<T, C, R> T##C##x##R;
#define __INGOT_MATRIX_NAMES(T)                                                                    \
    __INGOT_MATRIX_NAME(T, 2, 2)                                                                   \
    __INGOT_MATRIX_NAME(T, 2, 3)                                                                   \
    __INGOT_MATRIX_NAME(T, 2, 4)                                                                   \
    __INGOT_MATRIX_NAME(T, 3, 2)                                                                   \
    __INGOT_MATRIX_NAME(T, 3, 3)                                                                   \
    __INGOT_MATRIX_NAME(T, 3, 4)                                                                   \
    __INGOT_MATRIX_NAME(T, 4, 2)                                                                   \
    __INGOT_MATRIX_NAME(T, 4, 3)                                                                   \
    __INGOT_MATRIX_NAME(T, 4, 4)
__INGOT_MATRIX_NAMES(float)
__INGOT_MATRIX_NAMES(half)
#undef __INGOT_MATRIX_NAME
#undef __INGOT_MATRIX_NAMES
} // namespace metal
