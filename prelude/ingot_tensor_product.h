/*
 * Products of matrices that SIMD-groups make together: where each thread's elements are, and the
 * sums, on tiles of simdgroup_matrix. metal_cooperative_tensor and tensor_ops::matmul2d sit on
 * this, and so do the functions of compiled libraries.
 *
 * A product M x N is divided into rectangles of tiles, one for each SIMD-group
 * (__ingot_share_of). A thread's elements of an operand or result are an array, in one of two
 * layouts:
 *
 *   __ingot_tile_layout       tiles of 8 by 8 as in simdgroup_matrix, two elements of each: the
 *                             result of operands in memory
 *   __ingot_fragment_layout   Apple's, which kernels know by heart: fragments of 16 by 16 of the
 *                             matrix as stored, eight elements of each. With the lane's bits
 *                             b4...b0, element i is in row 4*b4 + 2*b2 + b1 + 8*(i / 4), column
 *                             4*(2*b3 + b0) + i % 4
 *
 * Elements {2t, 2t+1} of half h of a fragment are a tile too: rows 8h on, and columns 4*(c / 2) +
 * 2t + c % 2 for c from 0 to 7, called "woven" here. A sum over k may take k in any order, so
 * fragments are multiplied as woven tiles once the right operand's rows are woven.
 *
 * Sums run in float, in ascending order of k (of a fragment: woven), rounded once. Elements of 8
 * bits or fewer are exact in half and bfloat; sums of their products become int every 256 steps,
 * while they are exact.
 */
#pragma once
#include "ingot_simd.h"
#include "ingot_simdgroup_matrix.h"
#include "ingot_tensor.h"

#define __INGOT_UNROLL _Pragma("clang loop unroll(full)")

namespace metal {
/* ---- where elements are ------------------------------------------------------------------- */
/* What a SIMD-group has of a product: tiles below and beside each other; `across`: SIMD-groups
 * beside each other. */
struct __ingot_share {
    int rows, columns, across;
};
/* The division that wastes least, then the one nearest to a square. */
constexpr __ingot_share __ingot_share_of(int m, int n, int simdgroups) {
    __ingot_share best = {0, 0, 0};
    int tile_rows = (m + 7) / 8, tile_columns = (n + 7) / 8;
    for (int across = 1; across <= simdgroups; across++) {
        if (simdgroups % across == 0) {
            int down = simdgroups / across;
            __ingot_share share = {(tile_rows + down - 1) / down,
                                   (tile_columns + across - 1) / across, across};
            int area = share.rows * share.columns, best_area = best.rows * best.columns;
            if (best.across == 0 || area < best_area ||
                (area == best_area && share.rows + share.columns < best.rows + best.columns)) {
                best = share;
            }
        }
    }
    return best;
}

__ingot_inline int __ingot_lane_row() {
    uint lane = __ingot_thread_index_in_simdgroup();
    return int((lane >> 4 & 1u) * 4u + (lane >> 1 & 3u));
}
__ingot_inline int __ingot_lane_column() { /* of a tile; of a fragment, twice that */
    uint lane = __ingot_thread_index_in_simdgroup();
    return int((lane >> 3 & 1u) * 4u + (lane & 1u) * 2u);
}

/* The first row and column, in elements, of what this SIMD-group has. A SIMD-group beyond those
 * that execute the operation has nothing: its rows are beyond M. */
template <int M, int N, int SIMDGROUPS> struct __ingot_place {
    static constexpr __ingot_share share = __ingot_share_of(M, N, SIMDGROUPS);
    static constexpr int rows = share.rows * 8, columns = share.columns * 8;
    static __ingot_inline int row() {
        return SIMDGROUPS == 1
                   ? 0
                   : int(__ingot_simdgroup_index_in_threadgroup()) / share.across * rows;
    }
    static __ingot_inline int column() {
        return SIMDGROUPS == 1
                   ? 0
                   : int(__ingot_simdgroup_index_in_threadgroup()) % share.across * columns;
    }
};

template <int M, int N, int SIMDGROUPS> struct __ingot_tile_layout {
    using place = __ingot_place<M, N, SIMDGROUPS>;
    static constexpr int extent0 = N, extent1 = M, simdgroups = SIMDGROUPS;
    static constexpr int rows = place::share.rows, columns = place::share.columns;
    static constexpr int capacity = 2 * rows * columns;
    static __ingot_inline int row(int i) {
        return place::row() + i / 2 / columns * 8 + __ingot_lane_row();
    }
    static __ingot_inline int column(int i) {
        return place::column() + i / 2 % columns * 8 + __ingot_lane_column() + i % 2;
    }
    static __ingot_inline bool valid(int i) {
        return row(i) < M && column(i) < N;
    }
    /* Which of the rows, or columns, that this thread has. */
    static constexpr int row_count = rows, column_count = 2 * columns;
    static __ingot_inline constexpr int row_number(int i) {
        return i / 2 / columns;
    }
    static __ingot_inline constexpr int column_number(int i) {
        return i / 2 % columns * 2 + i % 2;
    }
    static __ingot_inline int row_at(int number) {
        return place::row() + number * 8 + __ingot_lane_row();
    }
    static __ingot_inline int column_at(int number) {
        return place::column() + number / 2 * 8 + __ingot_lane_column() + number % 2;
    }
};

/* OPERAND: 0 left, 1 right, 2 the result. A SIMD-group has of the operands what it needs, which
 * others may have too. */
template <int OPERAND, int M, int N, int K, bool TRANSPOSE_LEFT, bool TRANSPOSE_RIGHT,
          int SIMDGROUPS>
struct __ingot_fragment_layout {
    using place = __ingot_place<M, N, SIMDGROUPS>;
    static constexpr int simdgroups = SIMDGROUPS;
    static constexpr bool transposed =
        OPERAND == 0 ? TRANSPOSE_LEFT : OPERAND == 1 && TRANSPOSE_RIGHT;
    /* of the matrix in the product, not as stored */
    static constexpr int height = OPERAND == 1 ? K : M, width = OPERAND == 0 ? K : N;
    static constexpr int own_height = OPERAND == 1 ? K : place::rows;
    static constexpr int own_width = OPERAND == 0 ? K : place::columns;
    /* as stored */
    static constexpr int extent0 = transposed ? height : width;
    static constexpr int extent1 = transposed ? width : height;
    static constexpr int own_rows = transposed ? own_width : own_height;
    static constexpr int own_columns = transposed ? own_height : own_width;
    static constexpr int rows = (own_rows + 15) / 16, columns = (own_columns + 15) / 16;
    static constexpr int capacity = 8 * rows * columns;
    static __ingot_inline int first_row() {
        return transposed ? (OPERAND == 0 ? 0 : place::column())
                          : (OPERAND == 1 ? 0 : place::row());
    }
    static __ingot_inline int first_column() {
        return transposed ? (OPERAND == 0 ? place::row() : 0)
                          : (OPERAND == 0 ? 0 : place::column());
    }
    static __ingot_inline int own_row(int i) {
        return i / 8 / columns * 16 + i % 8 / 4 * 8 + __ingot_lane_row();
    }
    static __ingot_inline int own_column(int i) {
        return i / 8 % columns * 16 + 2 * __ingot_lane_column() + i % 4;
    }
    static __ingot_inline int row(int i) {
        return first_row() + own_row(i);
    }
    static __ingot_inline int column(int i) {
        return first_column() + own_column(i);
    }
    static __ingot_inline bool valid(int i) {
        return own_row(i) < own_rows && own_column(i) < own_columns && row(i) < extent1 &&
               column(i) < extent0;
    }
    static constexpr int row_count = 2 * rows, column_count = 4 * columns;
    static __ingot_inline constexpr int row_number(int i) {
        return i / 8 / columns * 2 + i % 8 / 4;
    }
    static __ingot_inline constexpr int column_number(int i) {
        return i / 8 % columns * 4 + i % 4;
    }
    static __ingot_inline int row_at(int number) {
        return first_row() + number * 8 + __ingot_lane_row();
    }
    static __ingot_inline int column_at(int number) {
        return first_column() + number / 4 * 16 + 2 * __ingot_lane_column() + number % 4;
    }
};

/* All in one thread. */
template <int ROWS, int COLUMNS> struct __ingot_thread_layout {
    static constexpr int extent0 = COLUMNS, extent1 = ROWS, simdgroups = 0;
    static constexpr int capacity = ROWS * COLUMNS;
    static constexpr int row_count = ROWS, column_count = COLUMNS;
    static __ingot_inline constexpr int row(int i) {
        return i / COLUMNS;
    }
    static __ingot_inline constexpr int column(int i) {
        return i % COLUMNS;
    }
    static __ingot_inline constexpr bool valid(int) {
        return true;
    }
    static __ingot_inline constexpr int row_number(int i) {
        return i / COLUMNS;
    }
    static __ingot_inline constexpr int column_number(int i) {
        return i % COLUMNS;
    }
    static __ingot_inline constexpr int row_at(int number) {
        return number;
    }
    static __ingot_inline constexpr int column_at(int number) {
        return number;
    }
};

/* ---- matrices in memory -----------------------------------------------------------------------
 */
/* T is what the elements are, P what is pointed to, with its address space. Dimension 0 is x. */
template <class T, class P> struct __ingot_matrix {
    P *data;
    long origin, stride0, stride1;
    int extent0, extent1;
    using value = decltype(__ingot_read_element<T>((P *)nullptr, 0l));
    __ingot_inline long index(int x, int y) const {
        return origin + x * stride0 + y * stride1;
    }
    __ingot_inline bool is_inside(int x, int y) const {
        return uint(x) < uint(extent0) && uint(y) < uint(extent1);
    }
    __ingot_inline value load(int x, int y) const {
        return is_inside(x, y) ? __ingot_read_element<T>(data, index(x, y)) : value(0);
    }
};

template <class P> constexpr bool __ingot_has_tiles = false;
template <class T> constexpr bool __ingot_has_tiles<__ingot_device T> = true;
template <class T> constexpr bool __ingot_has_tiles<const __ingot_device T> = true;
template <class T> constexpr bool __ingot_has_tiles<__ingot_threadgroup T> = true;
template <class T> constexpr bool __ingot_has_tiles<const __ingot_threadgroup T> = true;

template <class T> constexpr bool __ingot_is_small = __is_integral(T) || __ingot_is_nibble<T>;
/* What tiles of operands of A and B hold. */
template <class A, class B>
using __ingot_tile_element =
    conditional_t<(__is_same(A, half) || __ingot_is_small<A>) &&
                      (__is_same(B, half) || __ingot_is_small<B>),
                  half,
                  conditional_t<(__is_same(A, bfloat) || __ingot_is_small<A>) &&
                                    (__is_same(B, bfloat) || __ingot_is_small<B>),
                                bfloat, float>>;

template <class C, class V> __ingot_inline C __ingot_converted(V x) {
    if constexpr (__is_same(C, V)) {
        return x;
    } else {
        return C(float(x));
    }
}
/* A thread's elements of a tile. */
template <class T> struct __ingot_two {
    T x, y;
};
template <class C, class T>
__ingot_inline simdgroup_matrix<C, 8, 8> __ingot_tile_of(__ingot_two<T> from) {
    simdgroup_matrix<C, 8, 8> tile;
    tile.__elements = vec<C, 2>(__ingot_converted<C>(from.x), __ingot_converted<C>(from.y));
    return tile;
}
template <class T> __ingot_inline __ingot_two<T> __ingot_two_of(simdgroup_matrix<T, 8, 8> tile) {
    return {T(tile.__elements.x), T(tile.__elements.y)};
}

/* Tiles of bytes have a built-in of their own: CPUs may multiply them as they are. */
__ingot_inline uchar __ingot_load_byte(const __ingot_device uchar *p, ulong stride, bool turned,
                                       uint which) {
    return __ingot_simdgroup_load_device_b8(p, stride, turned, which);
}
__ingot_inline uchar __ingot_load_byte(const __ingot_threadgroup uchar *p, ulong stride,
                                       bool turned, uint which) {
    return __ingot_simdgroup_load_threadgroup_b8(p, stride, turned, which);
}
template <class P> struct __ingot_bytes_at {};
template <class T> struct __ingot_bytes_at<__ingot_device T> {
    using type = const __ingot_device uchar *;
};
template <class T> struct __ingot_bytes_at<__ingot_threadgroup T> {
    using type = const __ingot_threadgroup uchar *;
};

/* The tile whose first element is at (row, column) of the matrix, or of its transpose. WHOLE: all
 * of it is inside, and stride0 is 1. */
template <class C, bool TRANSPOSED, bool WHOLE, class T, class P>
__ingot_inline simdgroup_matrix<C, 8, 8> __ingot_load_tile(const __ingot_matrix<T, P> &from,
                                                           int row, int column) {
    int x = TRANSPOSED ? row : column, y = TRANSPOSED ? column : row;
    if constexpr (WHOLE && __ingot_has_tiles<P> && __is_floating_point(T)) {
        simdgroup_matrix<T, 8, 8> tile;
        simdgroup_load(tile, from.data + from.index(x, y), ulong(from.stride1), ulong2(0),
                       TRANSPOSED);
        return __ingot_tile_of<C>(__ingot_two_of(tile));
    } else if constexpr (WHOLE && __ingot_has_tiles<P> && __is_integral(T) && sizeof(T) == 1) {
        auto p = (typename __ingot_bytes_at<P>::type)(from.data + from.index(x, y));
        ulong stride = ulong(from.stride1);
        return __ingot_tile_of<C>(__ingot_two<T>{T(__ingot_load_byte(p, stride, TRANSPOSED, 0)),
                                                 T(__ingot_load_byte(p, stride, TRANSPOSED, 1))});
    } else {
        simdgroup_matrix<C, 8, 8> tile;
        int r = __ingot_lane_row(), c = __ingot_lane_column();
        int x0 = x + (TRANSPOSED ? r : c), y0 = y + (TRANSPOSED ? c : r);
        int x1 = TRANSPOSED ? x0 : x0 + 1, y1 = TRANSPOSED ? y0 + 1 : y0;
        if constexpr (WHOLE) {
            tile.__elements = vec<C, 2>(
                __ingot_converted<C>(__ingot_read_element<T>(from.data, from.index(x0, y0))),
                __ingot_converted<C>(__ingot_read_element<T>(from.data, from.index(x1, y1))));
        } else {
            tile.__elements = vec<C, 2>(__ingot_converted<C>(from.load(x0, y0)),
                                        __ingot_converted<C>(from.load(x1, y1)));
        }
        return tile;
    }
}

/* ---- elements of other lanes --------------------------------------------------------------------
 */
template <class T> __ingot_inline __ingot_two<T> __ingot_fetch_pair(__ingot_two<T> x, uint lane) {
    using pair = __ingot_two<T>;
    if constexpr (sizeof(T) == 2) {
        return __builtin_bit_cast(pair,
                                  __ingot_simd_shuffle_b32(__builtin_bit_cast(uint, x), lane));
    } else {
        return __ingot_two<T>(__ingot_fetch(T(x.x), lane), __ingot_fetch(T(x.y), lane));
    }
}
template <class T>
__ingot_inline __ingot_two<T> __ingot_chosen(bool second, __ingot_two<T> a, __ingot_two<T> b) {
    return {second ? b.x : a.x, second ? b.y : a.y};
}

/* Pair t of half h of a fragment: a woven tile. */
template <class T> __ingot_inline __ingot_two<T> __ingot_pair(const T *fragment, int h, int t) {
    return {fragment[4 * h + 2 * t], fragment[4 * h + 2 * t + 1]};
}
/* Columns 8v to 8v + 7 of half h of a fragment, as a tile. */
template <class T> __ingot_inline __ingot_two<T> __ingot_unwoven(const T *fragment, int h, int v) {
    uint lane = __ingot_thread_index_in_simdgroup();
    uint from = (lane & ~9u) | uint(v) << 3 | (lane >> 3 & 1u);
    return __ingot_chosen(lane & 1u, __ingot_fetch_pair(__ingot_pair(fragment, h, 0), from),
                          __ingot_fetch_pair(__ingot_pair(fragment, h, 1), from));
}
/* Pair t of half h of the fragment whose columns 0 to 7 and 8 to 15 of that half are tiles. */
template <class T>
__ingot_inline __ingot_two<T> __ingot_woven(__ingot_two<T> left, __ingot_two<T> right, int t) {
    uint lane = __ingot_thread_index_in_simdgroup();
    uint from = (lane & ~9u) | (lane & 1u) << 3 | uint(t);
    return __ingot_chosen(lane >> 3 & 1u, __ingot_fetch_pair(left, from),
                          __ingot_fetch_pair(right, from));
}
/* Woven rows u of two tiles, the second of them below the first. */
template <class T>
__ingot_inline __ingot_two<T> __ingot_woven_rows(__ingot_two<T> upper, __ingot_two<T> lower,
                                                 int u) {
    uint lane = __ingot_thread_index_in_simdgroup();
    uint from = (lane & ~20u) | (lane >> 2 & 1u) << 4 | uint(u) << 2;
    return __ingot_chosen(lane >> 4 & 1u, __ingot_fetch_pair(upper, from),
                          __ingot_fetch_pair(lower, from));
}
template <class T> __ingot_inline __ingot_two<T> __ingot_turned(__ingot_two<T> tile) {
    uint lane = __ingot_thread_index_in_simdgroup();
    uint from = (lane >> 3 & 1u) << 4 | (lane >> 4 & 1u) << 3 | (lane & 1u) << 2 | (lane >> 2 & 1u);
    __ingot_two<T> even = __ingot_fetch_pair(tile, from), odd = __ingot_fetch_pair(tile, from | 2u);
    bool second = lane >> 1 & 1u;
    return {second ? even.y : even.x, second ? odd.y : odd.x};
}

/* ---- operands, as tiles
 * --------------------------------------------------------------------------- */
/* tile<WHOLE>(i, k): row i of this SIMD-group's tiles of the left operand, or column i of the right
 * one's, at k. ROW says where this SIMD-group's part begins. */
template <class C, bool RIGHT, bool TRANSPOSED, class T, class P> struct __ingot_memory_operand {
    static constexpr bool in_memory = true;
    __ingot_matrix<T, P> matrix;
    int first;
    template <bool WHOLE> __ingot_inline simdgroup_matrix<C, 8, 8> tile(int i, int k) const {
        return __ingot_load_tile<C, TRANSPOSED, WHOLE>(matrix, RIGHT ? k : first + 8 * i,
                                                       RIGHT ? first + 8 * i : k);
    }
    /* Are `tiles` of them inside? */
    __ingot_inline bool is_whole(int tiles) const {
        return matrix.stride0 == 1 &&
               first + 8 * tiles <= (RIGHT != TRANSPOSED ? matrix.extent0 : matrix.extent1);
    }
    __ingot_inline int depth() const {
        return RIGHT != TRANSPOSED ? matrix.extent1 : matrix.extent0;
    }
};
template <class C, class Layout, bool RIGHT, class T> struct __ingot_register_operand {
    static constexpr bool in_memory = false;
    const T *elements;
    template <bool WHOLE> __ingot_inline simdgroup_matrix<C, 8, 8> tile(int i, int k) const {
        int down = RIGHT != Layout::transposed ? k / 8 : i,
            across = RIGHT != Layout::transposed ? i : k / 8;
        const T *fragment = elements + (down / 2 * Layout::columns + across / 2) * 8;
        __ingot_two<T> own = __ingot_unwoven(fragment, down % 2, across % 2);
        if constexpr (Layout::transposed) {
            own = __ingot_turned(own);
        }
        return __ingot_tile_of<C>(own);
    }
    __ingot_inline bool is_whole(int) const {
        return true;
    }
};

template <int ROWS, int COLUMNS, bool WHOLE, class C, class Left, class Right>
__ingot_inline void __ingot_add_products(simdgroup_matrix<float, 8, 8> *sums, const Left &left,
                                         const Right &right, int k) {
    simdgroup_matrix<C, 8, 8> a[ROWS], b[COLUMNS];
    __INGOT_UNROLL for (int i = 0; i < ROWS; i++) {
        a[i] = left.template tile<WHOLE>(i, k);
    }
    __INGOT_UNROLL for (int j = 0; j < COLUMNS; j++) {
        b[j] = right.template tile<WHOLE>(j, k);
    }
    __INGOT_UNROLL for (int i = 0; i < ROWS; i++) {
        __INGOT_UNROLL for (int j = 0; j < COLUMNS; j++) {
            simdgroup_multiply_accumulate(sums[i * COLUMNS + j], a[i], b[j], sums[i * COLUMNS + j]);
        }
    }
}

/* Adds the products of k in [from, to), where both operands have zeros beyond their ends. K: how
 * many at most, if the type says so. */
template <int ROWS, int COLUMNS, int K, class C, class Left, class Right>
__ingot_inline void __ingot_sum_products(simdgroup_matrix<float, 8, 8> *sums, const Left &left,
                                         const Right &right, int from, int to) {
    if constexpr (Left::in_memory && Right::in_memory) {
        int k = from;
        if (left.is_whole(ROWS) && right.is_whole(COLUMNS)) {
            for (; k + 16 <= to; k += 16) {
                __ingot_add_products<ROWS, COLUMNS, true, C>(sums, left, right, k);
                __ingot_add_products<ROWS, COLUMNS, true, C>(sums, left, right, k + 8);
            }
        }
        for (; k < to; k += 8) {
            __ingot_add_products<ROWS, COLUMNS, false, C>(sums, left, right, k);
        }
    } else {
        __INGOT_UNROLL for (int k = 0; k < K; k += 8) {
            __ingot_add_products<ROWS, COLUMNS, false, C>(sums, left, right, k);
        }
    }
}

/* ---- results
 * ---------------------------------------------------------------------------------------- */
/* This thread's elements of tile (i, j), of either layout. */
template <class Layout, class T>
__ingot_inline __ingot_two<T> __ingot_result_pair(const T *elements, int i, int j) {
    if constexpr (requires { Layout::transposed; }) {
        return __ingot_unwoven(elements + (i / 2 * Layout::columns + j / 2) * 8, i % 2, j % 2);
    } else {
        const T *pair = elements + (i * Layout::columns + j) * 2;
        return {pair[0], pair[1]};
    }
}
/* The sums, added to the elements or in their place. */
template <class Layout, int ROWS, int COLUMNS, class T>
__ingot_inline void __ingot_put_results(const simdgroup_matrix<float, 8, 8> *sums, T *elements,
                                        bool add) {
    if constexpr (requires { Layout::transposed; }) {
        __INGOT_UNROLL for (int i = 0; i < ROWS; i++) {
            __INGOT_UNROLL for (int j = 0; j < COLUMNS; j += 2) {
                __ingot_two<float> first = __ingot_two_of(sums[i * COLUMNS + j]), second = {0, 0};
                if (j + 1 < COLUMNS) {
                    second = __ingot_two_of(sums[i * COLUMNS + j + 1]);
                }
                T *pair = elements + (i / 2 * Layout::columns + j / 2) * 8 + i % 2 * 4;
                __INGOT_UNROLL for (int t = 0; t < 2; t++) {
                    __ingot_two<float> own = __ingot_woven(first, second, t);
                    T x = __ingot_converted<T>(own.x), y = __ingot_converted<T>(own.y);
                    pair[2 * t] = add ? T(pair[2 * t] + x) : x;
                    pair[2 * t + 1] = add ? T(pair[2 * t + 1] + y) : y;
                }
            }
        }
    } else {
        __INGOT_UNROLL for (int i = 0; i < ROWS * COLUMNS; i++) {
            T x = __ingot_converted<T>(float(sums[i].__elements.x));
            T y = __ingot_converted<T>(float(sums[i].__elements.y));
            elements[2 * i] = add ? T(elements[2 * i] + x) : x;
            elements[2 * i + 1] = add ? T(elements[2 * i + 1] + y) : y;
        }
    }
}

/* elements (+)= left * right, by SIMD-groups. Layout: of the result. K: the type's, or less than 1.
 */
template <class Layout, int ROWS, int COLUMNS, int K, bool ACCUMULATE, class C, class Left,
          class Right, class T>
__ingot_inline void __ingot_multiply(const Left &left, const Right &right, T *elements, int k) {
    simdgroup_matrix<float, 8, 8> sums[ROWS * COLUMNS];
    if constexpr (__is_integral(T)) {
        for (int from = 0; from < k; from += 256) {
            __INGOT_UNROLL for (int i = 0; i < ROWS * COLUMNS; i++) {
                sums[i].__elements = vec<float, 2>(0.0f);
            }
            int to = k - from < 256 ? k : from + 256;
            __ingot_sum_products<ROWS, COLUMNS, K, C>(sums, left, right, from, to);
            __ingot_put_results<Layout, ROWS, COLUMNS>(sums, elements, ACCUMULATE || from > 0);
            if constexpr (!Left::in_memory || !Right::in_memory) {
                static_assert(K <= 256,
                              "products of integers in cooperative tensors have k <= 256");
                return;
            }
        }
    } else {
        __INGOT_UNROLL for (int i = 0; i < ROWS; i++) {
            __INGOT_UNROLL for (int j = 0; j < COLUMNS; j++) {
                vec<float, 2> start(0.0f);
                if constexpr (ACCUMULATE) {
                    __ingot_two<T> old = __ingot_result_pair<Layout>(elements, i, j);
                    start = vec<float, 2>(float(old.x), float(old.y));
                }
                sums[i * COLUMNS + j].__elements = start;
            }
        }
        __ingot_sum_products<ROWS, COLUMNS, K, C>(sums, left, right, 0, k);
        __ingot_put_results<Layout, ROWS, COLUMNS>(sums, elements, false);
    }
}

/* Sums of woven tiles, added to the elements or in their place. */
template <int COUNT, class T>
__ingot_inline void __ingot_put_woven(const simdgroup_matrix<float, 8, 8> *sums, T *elements,
                                      bool add) {
    __INGOT_UNROLL for (int i = 0; i < COUNT; i++) {
        T x = __ingot_converted<T>(float(sums[i].__elements.x));
        T y = __ingot_converted<T>(float(sums[i].__elements.y));
        elements[2 * i] = add ? T(elements[2 * i] + x) : x;
        elements[2 * i + 1] = add ? T(elements[2 * i + 1] + y) : y;
    }
}

/* The same of three cooperative tensors in fragments, on woven tiles. */
template <class L, class R, class D, bool ACCUMULATE, class C, class A, class B, class T>
__ingot_inline void __ingot_multiply_fragments(const A *left, const B *right, T *elements) {
    constexpr int rows = D::rows, columns = D::columns;
    constexpr int depth = L::transposed ? L::rows : L::columns;
    constexpr bool ta = L::transposed, tb = R::transposed;
    simdgroup_matrix<float, 8, 8> sums[rows * columns * 4];
    __INGOT_UNROLL for (int i = 0; i < rows * columns * 4; i++) {
        vec<float, 2> start(0.0f);
        if constexpr (ACCUMULATE && !__is_integral(T)) {
            start = vec<float, 2>(float(elements[2 * i]), float(elements[2 * i + 1]));
        }
        sums[i].__elements = start;
    }
    __INGOT_UNROLL for (int k = 0; k < depth; k++) {
        simdgroup_matrix<C, 8, 8> b[columns][2][2]; /* [which k][which n] */
        __INGOT_UNROLL for (int n = 0; n < columns; n++) {
            const B *fragment = right + (tb ? n * R::columns + k : k * R::columns + n) * 8;
            __INGOT_UNROLL for (int s = 0; s < 2; s++) {
                __INGOT_UNROLL for (int t = 0; t < 2; t++) {
                    __ingot_two<B> own;
                    if constexpr (!ta && !tb) {
                        own = __ingot_woven_rows(__ingot_pair(fragment, 0, t),
                                                 __ingot_pair(fragment, 1, t), s);
                    } else if constexpr (!ta) {
                        own = __ingot_turned(__ingot_woven_rows(__ingot_pair(fragment, 0, s),
                                                                __ingot_pair(fragment, 1, s), t));
                    } else if constexpr (!tb) {
                        own = __ingot_pair(fragment, s, t);
                    } else {
                        own = __ingot_turned(__ingot_woven_rows(
                            __ingot_unwoven(fragment, 0, s), __ingot_unwoven(fragment, 1, s), t));
                    }
                    b[n][s][t] = __ingot_tile_of<C>(own);
                }
            }
        }
        __INGOT_UNROLL for (int m = 0; m < rows; m++) {
            const A *fragment = left + (ta ? k * L::columns + m : m * L::columns + k) * 8;
            __INGOT_UNROLL for (int h = 0; h < 2; h++) {
                __INGOT_UNROLL for (int s = 0; s < 2; s++) {
                    __ingot_two<A> own;
                    if constexpr (ta) {
                        own = __ingot_turned(__ingot_unwoven(fragment, s, h));
                    } else {
                        own = __ingot_pair(fragment, h, s);
                    }
                    simdgroup_matrix<C, 8, 8> a = __ingot_tile_of<C>(own);
                    __INGOT_UNROLL for (int n = 0; n < columns; n++) {
                        __INGOT_UNROLL for (int t = 0; t < 2; t++) {
                            int at = (m * columns + n) * 4 + h * 2 + t;
                            simdgroup_multiply_accumulate(sums[at], a, b[n][s][t], sums[at]);
                        }
                    }
                }
            }
        }
        /* sums of 8-bit integers are exact for 256 steps */
        if (__is_integral(T) && k % 16 == 15 && k + 1 < depth) {
            __ingot_put_woven<rows * columns * 4>(sums, elements, ACCUMULATE || k > 15);
            __INGOT_UNROLL for (int i = 0; i < rows * columns * 4; i++) {
                sums[i].__elements = vec<float, 2>(0.0f);
            }
        }
    }
    __ingot_put_woven<rows * columns * 4>(sums, elements,
                                          __is_integral(T) && (ACCUMULATE || depth > 16));
}
} // namespace metal
