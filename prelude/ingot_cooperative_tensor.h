/*
 * metal::cooperative_tensor: a matrix, or one of its rows or columns reduced, whose elements are
 * divided among the threads that execute an operation. Layout says which a thread has
 * (ingot_tensor_product.h); programs get such tensors from operations.
 *
 * A new one is zero. Elements are an array in registers once loops over them are unrolled, as
 * LLVM does for loops of known length.
 */
#pragma once
#include "ingot_tensor_product.h"

namespace metal {
template <class CT, class Element> struct __ingot_element_iterator {
    CT *__tensor;
    int __index;
    using value_type = remove_cv_t<Element>;
    using reference = Element &;
    using tensor_type = remove_cv_t<CT>;
    __ingot_inline Element &operator*() const {
        return __tensor->__elements[__index];
    }
    __ingot_inline Element *operator->() const {
        return &__tensor->__elements[__index];
    }
    __ingot_inline __ingot_element_iterator &operator++() {
        ++__index;
        return *this;
    }
    __ingot_inline __ingot_element_iterator operator++(int) {
        __ingot_element_iterator old = *this;
        ++__index;
        return old;
    }
    __ingot_inline __ingot_element_iterator &operator--() {
        --__index;
        return *this;
    }
    __ingot_inline __ingot_element_iterator operator--(int) {
        __ingot_element_iterator old = *this;
        --__index;
        return old;
    }
    __ingot_inline __ingot_element_iterator &operator+=(int n) {
        __index += n;
        return *this;
    }
    __ingot_inline __ingot_element_iterator operator+(int n) const {
        return {__tensor, __index + n};
    }
    __ingot_inline __ingot_element_iterator operator-(int n) const {
        return {__tensor, __index - n};
    }
    __ingot_inline int operator-(const __ingot_element_iterator &other) const {
        return __index - other.__index;
    }
    __ingot_inline bool operator==(const __ingot_element_iterator &other) const {
        return __index == other.__index;
    }
    __ingot_inline bool operator<(const __ingot_element_iterator &other) const {
        return __index < other.__index;
    }
};

/* The rows (ROWS) or columns of the matrix of another layout, each as one element. */
template <class Of, bool ROWS> struct __ingot_reduced_layout {
    using matrix = Of;
    static constexpr bool of_rows = ROWS;
    static constexpr int extent = ROWS ? Of::extent1 : Of::extent0, simdgroups = Of::simdgroups;
    static constexpr int capacity = ROWS ? Of::row_count : Of::column_count;
    static __ingot_inline int at(int i) {
        return ROWS ? Of::row_at(i) : Of::column_at(i);
    }
    static __ingot_inline bool valid(int i) {
        return at(i) < extent;
    }
};

/* Whether an element of a matrix in one layout is in a row, or column, that the same thread has in
 * `To`, a reduced layout, under the number that the matrix's own layout gives it. Rows are the same
 * for all layouts of one SIMD-group, columns for those of one kind. */
template <class From, class To> constexpr bool __ingot_maps_onto() {
    if constexpr (requires { To::of_rows; }) {
        using M = typename To::matrix;
        if constexpr (__is_same(From, M)) {
            return true;
        } else if constexpr (!requires { typename From::matrix; } && From::simdgroups <= 1 &&
                             From::simdgroups == M::simdgroups) {
            constexpr bool same_kind =
                requires { From::transposed; } == requires { M::transposed; };
            return To::of_rows ? From::extent1 == M::extent1
                               : same_kind && From::extent0 == M::extent0;
        } else {
            return false;
        }
    } else {
        return false;
    }
}

/* The result of a convolution: columns are channels, rows are images of W by H below each other. */
template <class Of, int W, int H> struct __ingot_image_layout : Of {
    using matrix = Of;
};

/* Coordinate d, 0 the innermost, of element i. */
template <class Layout> struct __ingot_coordinates {
    static __ingot_inline int get(int i, int d) {
        return d == 0 ? Layout::column(i) : Layout::row(i);
    }
};
template <class Of, bool ROWS> struct __ingot_coordinates<__ingot_reduced_layout<Of, ROWS>> {
    static __ingot_inline int get(int i, int) {
        return __ingot_reduced_layout<Of, ROWS>::at(i);
    }
};
template <class Of, int W, int H> struct __ingot_coordinates<__ingot_image_layout<Of, W, H>> {
    static __ingot_inline int get(int i, int d) {
        int row = Of::row(i);
        return d == 0 ? Of::column(i) : d == 1 ? row % W : d == 2 ? row / W % H : row / (W * H);
    }
};

/* What element i reads of a tensor: a dimension of 1 is repeated, and so is what the tensor lacks.
 */
template <class Layout, class Tensor>
__ingot_inline auto __ingot_read_at(const Tensor &from, int i) {
    long index = from.__origin;
    bool inside = true;
    using value = decltype(from.load(array<int, Tensor::__rank>{}));
    __INGOT_UNROLL for (int d = 0; d < int(Tensor::__rank); d++) {
        int at = __ingot_coordinates<Layout>::get(i, d);
        at = from.__limits[d] == 1 ? 0 : at;
        inside &= uint(at) < uint(from.__limits[d]);
        index += long(at) * long(from.__strides[d]);
    }
    return inside ? __ingot_read_element<typename Tensor::value_type>(from.__data, index)
                  : value(0);
}
template <class Layout, class Tensor, class T>
__ingot_inline void __ingot_write_at(const Tensor &to, int i, T value) {
    long index = to.__origin;
    bool inside = Layout::valid(i);
    __INGOT_UNROLL for (int d = 0; d < int(Tensor::__rank); d++) {
        int at = __ingot_coordinates<Layout>::get(i, d);
        inside &= uint(at) < uint(to.__limits[d]);
        index += long(at) * long(to.__strides[d]);
    }
    if (inside) {
        to.__data[index] = __ingot_converted<typename Tensor::value_type>(value);
    }
}

/* Whole tiles, where all of them are inside the tensor; false: nothing was done. */
template <class Layout, class T, class Tensor>
__ingot_inline bool __ingot_write_tiles(const T *, const Tensor &) {
    return false;
}
template <class Layout, class T, class Tensor>
    requires(
        requires { typename Layout::place; } && !requires { Layout::transposed; } &&
        !requires { typename Layout::matrix; } && Tensor::__rank == 2 &&
        __ingot_has_tiles<remove_reference_t<typename Tensor::reference>> &&
        __is_floating_point(typename Tensor::value_type) && __is_floating_point(T))
__ingot_inline bool __ingot_write_tiles(const T *elements, const Tensor &to) {
    using V = typename Tensor::value_type;
    int row = Layout::place::row(), column = Layout::place::column();
    if (to.__strides[0] != 1 || row + Layout::place::rows > int(to.__limits[1]) ||
        column + Layout::place::columns > int(to.__limits[0]) ||
        row + Layout::place::rows > Layout::extent1 ||
        column + Layout::place::columns > Layout::extent0) {
        return false;
    }
    auto *at = to.__data + to.__index(column, row);
    ulong stride = ulong(to.__strides[1]);
    __INGOT_UNROLL for (int i = 0; i < Layout::rows * Layout::columns; i++) {
        simdgroup_matrix<V, 8, 8> tile;
        tile.__elements = vec<V, 2>(__ingot_converted<V>(elements[2 * i]),
                                    __ingot_converted<V>(elements[2 * i + 1]));
        simdgroup_store(tile, at + (i / Layout::columns * 8 * stride + i % Layout::columns * 8),
                        stride);
    }
    return true;
}

template <class ElementType, class Extents, class Layout> struct cooperative_tensor {
    using element_type = ElementType;
    using value_type = __ingot_bare_t<ElementType>;
    using extents_type = Extents;
    using layout = Layout;
    using index_type = typename Extents::index_type;
    using size_type = typename Extents::size_type;
    using rank_type = typename Extents::rank_type;
    using thread_index_type = ushort;
    using thread_size_type = ushort;
    using iterator = __ingot_element_iterator<cooperative_tensor, value_type>;
    using const_iterator = __ingot_element_iterator<const cooperative_tensor, const value_type>;
    static constexpr int __rank = int(Extents::__rank);

    value_type __elements[Layout::capacity] = {};

    static __ingot_inline constexpr rank_type get_rank() {
        return __rank;
    }
    static __ingot_inline constexpr size_t get_static_extent(rank_type r) {
        return Extents::static_extent(r);
    }
    static __ingot_inline constexpr index_type get_extent(rank_type r) {
        return index_type(Extents::static_extent(r));
    }
    static __ingot_inline constexpr thread_size_type get_capacity() {
        return Layout::capacity;
    }
    static __ingot_inline constexpr thread_size_type get_num_elements() {
        return Layout::capacity;
    }
    __ingot_inline bool is_valid_element(int i) const {
        return Layout::valid(i);
    }
    __ingot_inline bool is_valid_element(const iterator &i) const {
        return Layout::valid(i.__index);
    }
    __ingot_inline bool is_valid_element(const const_iterator &i) const {
        return Layout::valid(i.__index);
    }
    __ingot_inline bool get_mask(int i) const {
        return Layout::valid(i);
    }
    __ingot_inline value_type &operator[](int i) {
        return __elements[i];
    }
    __ingot_inline const value_type &operator[](int i) const {
        return __elements[i];
    }
    __ingot_inline value_type get(int i) const {
        return __elements[i];
    }
    __ingot_inline void set(int i, value_type value) {
        __elements[i] = value;
    }
    __ingot_inline array<index_type, size_t(__rank)> get_multidimensional_index(int i) const {
        array<index_type, size_t(__rank)> at;
        __INGOT_UNROLL for (int d = 0; d < __rank; d++) {
            at[size_t(d)] = index_type(__ingot_coordinates<Layout>::get(i, d));
        }
        return at;
    }
    __ingot_inline auto get_multidimensional_index(const iterator &i) const {
        return get_multidimensional_index(i.__index);
    }
    __ingot_inline auto get_multidimensional_index(const const_iterator &i) const {
        return get_multidimensional_index(i.__index);
    }
    __ingot_inline auto get_multidimensional_index(const value_type *element) const {
        return get_multidimensional_index(int(element - __elements));
    }
    __ingot_inline iterator get_iterator(int i) {
        return {this, i};
    }
    __ingot_inline const_iterator get_iterator(int i) const {
        return {this, i};
    }
    __ingot_inline iterator begin() {
        return {this, 0};
    }
    __ingot_inline iterator end() {
        return {this, Layout::capacity};
    }
    __ingot_inline const_iterator begin() const {
        return {this, 0};
    }
    __ingot_inline const_iterator end() const {
        return {this, Layout::capacity};
    }
    /* This tensor's element for that of another: the same one, or the row or column it is in. Of a
     * tensor with other rows or columns there is none: kernels ask is_iterator_compatible, and have
     * the call in their code all the same. */
    template <class Other> static __ingot_inline int __mapped(int i) {
        using from = typename Other::layout;
        if constexpr (__is_same(from, Layout)) {
            return i;
        } else if constexpr (__ingot_maps_onto<from, Layout>()) {
            int number = Layout::of_rows ? from::row_number(i) : from::column_number(i);
            /* one layout may have more rows beyond the edge than the other */
            return number < Layout::capacity ? number : Layout::capacity - 1;
        } else {
            __builtin_trap();
            return 0;
        }
    }
    template <class It> __ingot_inline iterator map_iterator(const It &it) {
        return {this, __mapped<typename It::tensor_type>(it.__index)};
    }
    template <class It> __ingot_inline const_iterator map_iterator(const It &it) const {
        return {this, __mapped<typename It::tensor_type>(it.__index)};
    }

    /* Elements beyond the tensor in memory are 0. A dimension of 1 there is repeated, and so is
     * a single row for every row. */
    template <class T, class E, class D, class... Tags>
    __ingot_inline void load(const tensor<T, E, D, Tags...> &from) {
        __INGOT_UNROLL for (int i = 0; i < Layout::capacity; i++) {
            /* what is not valid is another thread's, who may store it meanwhile */
            __elements[i] = value_type(0);
            if (Layout::valid(i)) {
                __elements[i] = __ingot_converted<value_type>(__ingot_read_at<Layout>(from, i));
            }
        }
    }
    template <class T, class E, class D, class... Tags>
    __ingot_inline void store(const tensor<T, E, D, Tags...> &to) const {
        if (!__ingot_write_tiles<Layout>(__elements, to)) {
            __INGOT_UNROLL for (int i = 0; i < Layout::capacity; i++) {
                __ingot_write_at<Layout>(to, i, __elements[i]);
            }
        }
    }
};
} // namespace metal
