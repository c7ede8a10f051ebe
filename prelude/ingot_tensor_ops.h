/*
 * mpp::tensor_ops: matmul2d and the reductions of what it gives. What threads do together is in
 * ingot_tensor_product.h; here are Metal's classes around it.
 *
 * Relaxed precision changes nothing: products of float are products of float.
 */
#pragma once
#include "ingot_cooperative_tensor.h"
#include "ingot_limits.h"
#include "ingot_math.h"
#include "ingot_tensor_panels.h"

namespace mpp {
namespace tensor_ops {
using namespace metal;

template <class T, class = enable_if_t<__is_integral(T)>> struct dynamic_length {
    static constexpr T value = numeric_limits<T>::max();
};
template <class T, class = enable_if_t<__is_integral(T)>>
constexpr T dynamic_length_v = dynamic_length<T>::value;

struct matmul2d_descriptor {
    enum class mode { multiply, multiply_accumulate };
    int m, n, k;
    bool transpose_left, transpose_right, relaxed_precision;
    mode matmul_mode;
    constexpr matmul2d_descriptor(int m, int n, int k = int(dynamic_extent),
                                  bool transpose_left = false, bool transpose_right = false,
                                  bool relaxed_precision = false, mode matmul_mode = mode::multiply)
        : m(m), n(n), k(k), transpose_left(transpose_left), transpose_right(transpose_right),
          relaxed_precision(relaxed_precision), matmul_mode(matmul_mode) {}
};
/* A name of Apple's headers that programs use. */
namespace __tensor_ops_detail {
template <class T> using __remove_addrspace_t = remove_addrspace_t<T>;
}

/* -1 (dynamic_extent), 0 and dynamic_length_v: of the tensors. */
constexpr bool __ingot_is_stated(int length) {
    return length > 0 && length != dynamic_length_v<int>;
}

template <class T> constexpr bool __ingot_is_cooperative = false;
template <class T, class E, class L>
constexpr bool __ingot_is_cooperative<cooperative_tensor<T, E, L>> = true;
template <class T>
using __ingot_value_of = typename __ingot_bare_t<remove_reference_t<T>>::value_type;

/* A tensor of two dimensions, or of more of which the others are 1, or of one: a row. */
template <class T> __ingot_inline auto __ingot_matrix_of(const T &tensor) {
    using P = remove_reference_t<decltype(*tensor.__data)>;
    return __ingot_matrix<typename T::value_type, P>{
        tensor.__data,
        tensor.__origin,
        long(tensor.__strides[0]),
        T::__rank > 1 ? long(tensor.__strides[T::__rank > 1 ? 1 : 0]) : 0l,
        int(tensor.__limits[0]),
        T::__rank > 1 ? int(tensor.__limits[T::__rank > 1 ? 1 : 0]) : 1};
}

enum class reduction_operation { sum, max, min };
template <class T> struct reduction_operation_identity {
    static constexpr T sum_identity = T(0);
    static constexpr T max_identity = numeric_limits<T>::lowest();
    static constexpr T min_identity = numeric_limits<T>::max();
};

template <matmul2d_descriptor Descriptor, class Scope, class... Args> class matmul2d {
    static_assert(is_execution_thread_v<Scope> || is_execution_simdgroups_v<Scope>,
                  "the scope of matmul2d is execution_thread, execution_simdgroup or "
                  "execution_simdgroups<N>");
    static constexpr bool by_thread = is_execution_thread_v<Scope>;
    static constexpr int simdgroups = int(Scope::static_size);
    static constexpr bool ta = Descriptor.transpose_left, tb = Descriptor.transpose_right;
    static constexpr bool accumulate =
        Descriptor.matmul_mode == matmul2d_descriptor::mode::multiply_accumulate;
    static constexpr bool has_size =
        __ingot_is_stated(Descriptor.m) && __ingot_is_stated(Descriptor.n);
    static constexpr bool has_depth = __ingot_is_stated(Descriptor.k);
    static constexpr int M = has_size ? Descriptor.m : 8, N = has_size ? Descriptor.n : 8;
    static constexpr int K = has_depth ? Descriptor.k : 8;

    template <int OPERAND>
    using fragments = conditional_t<
        by_thread,
        __ingot_thread_layout<OPERAND == 0   ? (ta ? K : M)
                              : OPERAND == 1 ? (tb ? N : K)
                                             : M,
                              OPERAND == 0   ? (ta ? M : K)
                              : OPERAND == 1 ? (tb ? K : N)
                                             : N>,
        __ingot_fragment_layout<OPERAND, M, N, K, ta, tb, by_thread ? 1 : simdgroups>>;
    using tiles = conditional_t<by_thread, __ingot_thread_layout<M, N>,
                                __ingot_tile_layout<M, N, by_thread ? 1 : simdgroups>>;
    /* Apple's layout is for those who have all operands in registers. */
    template <class L, class R>
    using result_layout =
        conditional_t<__ingot_is_cooperative<__ingot_bare_t<remove_reference_t<L>>> &&
                          __ingot_is_cooperative<__ingot_bare_t<remove_reference_t<R>>>,
                      fragments<2>, tiles>;
    template <class T, class Index, class Layout>
    using matrix = cooperative_tensor<
        T, metal::extents<Index, size_t(Layout::extent0), size_t(Layout::extent1)>, Layout>;
    template <class T, class Index, class Layout>
    using vector = cooperative_tensor<T, metal::extents<Index, size_t(Layout::extent)>, Layout>;

  public:
    static constexpr matmul2d_descriptor descriptor = Descriptor;
    using scope = Scope;

    matmul2d() = default;

    /* ---- cooperative tensors ---- */
    template <class A, class B, class T, class Index = int, class... More>
    using cooperative_tensor_left_input_t = matrix<A, Index, fragments<0>>;
    template <class A, class B, class T, class Index = int, class... More>
    using cooperative_tensor_right_input_t = matrix<B, Index, fragments<1>>;
    template <class L, class R, class T, class Index = int, class... More>
    using cooperative_tensor_destination_t = matrix<T, Index, result_layout<L, R>>;
    template <class L, class R, class T, class Index = int, class... More>
    using cooperative_tensor_row_reduction_destination_t =
        vector<T, Index, __ingot_reduced_layout<result_layout<L, R>, true>>;
    template <class L, class R, class T, class Index = int, class... More>
    using cooperative_tensor_column_reduction_destination_t =
        vector<T, Index, __ingot_reduced_layout<result_layout<L, R>, false>>;

    template <class A, class B, class T, class Index = int, class... More>
    __ingot_inline auto get_left_input_cooperative_tensor() const {
        static_assert(has_size && has_depth, "a left cooperative tensor needs m, n and k");
        return cooperative_tensor_left_input_t<A, B, T, Index>();
    }
    template <class A, class B, class T, class Index = int, class... More>
    __ingot_inline auto get_right_input_cooperative_tensor() const {
        static_assert(has_size && has_depth, "a right cooperative tensor needs m, n and k");
        return cooperative_tensor_right_input_t<A, B, T, Index>();
    }
    template <class L, class R, class T, class Index = int, class... More>
    __ingot_inline auto get_destination_cooperative_tensor() const {
        static_assert(has_size, "a destination cooperative tensor needs m and n");
        return cooperative_tensor_destination_t<L, R, T, Index>();
    }
    template <class L, class R, class T, class Index = int, class... More>
    __ingot_inline auto get_row_reduction_destination_cooperative_tensor() const {
        static_assert(has_size, "a destination cooperative tensor needs m and n");
        return cooperative_tensor_row_reduction_destination_t<L, R, T, Index>();
    }
    template <class L, class R, class T, class Index = int, class... More>
    __ingot_inline auto get_column_reduction_destination_cooperative_tensor() const {
        static_assert(has_size, "a destination cooperative tensor needs m and n");
        return cooperative_tensor_column_reduction_destination_t<L, R, T, Index>();
    }

    /* ---- a result as the next product's operand: where one SIMD-group, or thread, has it all ----
     */
    template <class To, class From> static constexpr bool fits() {
        return To::extent0 == From::extent0 && To::extent1 == From::extent1 &&
               To::simdgroups == From::simdgroups && From::simdgroups <= 1;
    }
    template <class To, class T, class S, class E, class From>
    static __ingot_inline auto converted(const cooperative_tensor<S, E, From> &from) {
        cooperative_tensor<T, metal::extents<int, size_t(To::extent0), size_t(To::extent1)>, To>
            result;
        static_assert(To::extent0 == From::extent0 && To::extent1 == From::extent1,
                      "the cooperative tensor has other rows and columns than the operand");
        static_assert(fits<To, From>(), "only an operation of one SIMD-group takes the cooperative "
                                        "tensor of another: ask is_compatible_as_left_input or "
                                        "is_compatible_as_right_input");
        if constexpr (requires { From::transposed; } || by_thread) {
            __INGOT_UNROLL for (int i = 0; i < To::capacity; i++) {
                result.__elements[i] = __ingot_converted<T>(from.__elements[i]);
            }
        } else {
            __INGOT_UNROLL for (int i = 0; i < From::rows; i++) {
                __INGOT_UNROLL for (int j = 0; j < From::columns; j += 2) {
                    __ingot_two<S> left = __ingot_result_pair<From>(from.__elements, i, j),
                                   right = {};
                    if (j + 1 < From::columns) {
                        right = __ingot_result_pair<From>(from.__elements, i, j + 1);
                    }
                    T *half = result.__elements + (i / 2 * To::columns + j / 2) * 8 + i % 2 * 4;
                    __INGOT_UNROLL for (int t = 0; t < 2; t++) {
                        __ingot_two<S> pair = __ingot_woven(left, right, t);
                        half[2 * t] = __ingot_converted<T>(pair.x);
                        half[2 * t + 1] = __ingot_converted<T>(pair.y);
                    }
                }
            }
        }
        return result;
    }
    template <class A, class B, class T, class Index = int, class S, class E, class From>
    __ingot_inline auto
    get_left_input_cooperative_tensor(const cooperative_tensor<S, E, From> &from) const {
        return converted<fragments<0>, A>(from);
    }
    template <class A, class B, class T, class Index = int, class S, class E, class From>
    __ingot_inline auto
    get_right_input_cooperative_tensor(const cooperative_tensor<S, E, From> &from) const {
        return converted<fragments<1>, B>(from);
    }
    template <class A, class B, class T, class S, class E, class From>
    __ingot_inline constexpr bool
    is_compatible_as_left_input(const cooperative_tensor<S, E, From> &) const {
        return fits<fragments<0>, From>();
    }
    template <class A, class B, class T, class S, class E, class From>
    __ingot_inline constexpr bool
    is_compatible_as_right_input(const cooperative_tensor<S, E, From> &) const {
        return fits<fragments<1>, From>();
    }

    /* ---- run ---- */
    template <class L, class R, class D>
    __ingot_inline void run(const L &left, const R &right, D &destination) const {
        constexpr bool left_in_registers = __ingot_is_cooperative<L>;
        constexpr bool right_in_registers = __ingot_is_cooperative<R>;
        static_assert(has_depth || (!left_in_registers && !right_in_registers),
                      "the product of cooperative tensors needs k");
        int k = Descriptor.k;
        if constexpr (!left_in_registers && !right_in_registers) {
            int depth = int(left.__limits[ta ? 1 : 0]), other = int(right.__limits[tb ? 0 : 1]);
            depth = other < depth ? other : depth;
            k = has_depth && k < depth ? k : depth;
        }
        if constexpr (__ingot_is_cooperative<D>) {
            static_assert(has_size, "a product in a cooperative tensor needs m and n");
            if constexpr (by_thread) {
                run_by_thread<D>(left, right, destination, k);
            } else {
                if constexpr (has_panels<L, R> && __is_same(typename D::layout, tiles) &&
                              __is_floating_point(typename D::value_type)) {
                    auto a = __ingot_matrix_of(left);
                    auto b = __ingot_matrix_of(right);
                    if (k >= panels<L>::least_depth && panels<L>::can(a, b, k)) {
                        panels<L>::template run_to_elements<tiles, accumulate>(
                            a, b, destination.__elements, k);
                        return;
                    }
                }
                run_at<D, accumulate>(left, right, destination, k, 0, 0);
            }
        } else if constexpr (has_size) {
            run_to_memory(left, right, destination, k);
        } else {
            run_by_blocks(left, right, destination, k);
        }
    }

  private:
    /* ---- products by way of panels, where there are any ---- */
    template <class L>
    using panels =
        __ingot_panel_product<typename L::value_type, M, N, by_thread ? 4 : simdgroups, ta, tb>;
    template <class L, class R> static constexpr bool has_panels_for() {
        if constexpr (by_thread || !has_size || __ingot_is_cooperative<L> ||
                      __ingot_is_cooperative<R>) {
            return false;
        } else {
            using A = typename L::value_type;
            using PA = remove_reference_t<decltype(*__ingot_matrix_of(*(const L *)nullptr).data)>;
            using PB = remove_reference_t<decltype(*__ingot_matrix_of(*(const R *)nullptr).data)>;
            return (__is_same(A, half) || __is_same(A, bfloat)) && __ingot_is_device<PA, A> &&
                   __ingot_is_device<PB, A> && panels<L>::fits;
        }
    }
    template <class L, class R> static constexpr bool has_panels = has_panels_for<L, R>();

    /* Rows from `row` and columns from `column` of the product, those of a result at (0, 0). */
    template <class D, bool ACCUMULATE, class L, class R>
    static __ingot_inline void run_at(const L &left, const R &right, D &result, int k, int row,
                                      int column) {
        using layout = typename D::layout;
        using place = __ingot_place<M, N, simdgroups>;
        using A = typename L::value_type;
        using B = typename R::value_type;
        using C = __ingot_tile_element<A, B>;
        static_assert((!__is_integral(A) || sizeof(A) == 1) &&
                          (!__is_integral(B) || sizeof(B) == 1),
                      "integer operands of matmul2d have 8 or 4 bits");
        static_assert(layout::extent0 == N && layout::extent1 == M &&
                          layout::simdgroups == simdgroups,
                      "the destination is not one of this operation");
        constexpr int rows = place::share.rows, columns = place::share.columns;
        constexpr bool of_fragments = requires { layout::transposed; };
        if constexpr (__ingot_is_cooperative<L> && __ingot_is_cooperative<R> && of_fragments) {
            __ingot_multiply_fragments<typename L::layout, typename R::layout, layout, ACCUMULATE,
                                       C>(left.__elements, right.__elements, result.__elements);
        } else {
            auto a = left_operand<C>(left, row, k);
            auto b = right_operand<C>(right, column, k);
            __ingot_multiply<layout, rows, columns, K, ACCUMULATE, C>(a, b, result.__elements, k);
        }
    }
    /* What is in memory at k and beyond is no part of the product. */
    template <class C, class L>
    static __ingot_inline auto left_operand(const L &left, int row, int k) {
        if constexpr (__ingot_is_cooperative<L>) {
            return __ingot_register_operand<C, typename L::layout, false, typename L::value_type>{
                left.__elements};
        } else {
            auto matrix = __ingot_matrix_of(left);
            int &depth = ta ? matrix.extent1 : matrix.extent0;
            depth = k < depth ? k : depth;
            using P = remove_reference_t<decltype(*matrix.data)>;
            return __ingot_memory_operand<C, false, ta, typename L::value_type, P>{
                matrix, row + __ingot_place<M, N, simdgroups>::row()};
        }
    }
    template <class C, class R>
    static __ingot_inline auto right_operand(const R &right, int column, int k) {
        if constexpr (__ingot_is_cooperative<R>) {
            return __ingot_register_operand<C, typename R::layout, true, typename R::value_type>{
                right.__elements};
        } else {
            auto matrix = __ingot_matrix_of(right);
            int &depth = tb ? matrix.extent0 : matrix.extent1;
            depth = k < depth ? k : depth;
            using P = remove_reference_t<decltype(*matrix.data)>;
            return __ingot_memory_operand<C, true, tb, typename R::value_type, P>{
                matrix, column + __ingot_place<M, N, simdgroups>::column()};
        }
    }
    template <class L, class R, class D>
    static __ingot_inline void run_to_memory(const L &left, const R &right, const D &destination,
                                             int k) {
        using T = typename D::value_type;
        if constexpr (has_panels<L, R> && __is_floating_point(T)) {
            auto c = __ingot_matrix_of(destination);
            if constexpr (__ingot_is_device<remove_reference_t<decltype(*c.data)>, T>) {
                auto a = __ingot_matrix_of(left);
                auto b = __ingot_matrix_of(right);
                if (panels<L>::can(a, b, k)) {
                    panels<L>::template run<accumulate>(a, b, c, k);
                    return;
                }
            }
        }
        matrix<T, int, tiles> result;
        if constexpr (accumulate) {
            result.load(destination);
        }
        if constexpr (by_thread) {
            run_by_thread<decltype(result)>(left, right, result, k);
        } else {
            run_at<decltype(result), accumulate>(left, right, result, k, 0, 0);
        }
        result.store(destination);
    }
    /* m or n are the destination's: pieces of 32 by 32 for each SIMD-group in turn, or elements. */
    template <class L, class R, class D>
    static __ingot_inline void run_by_blocks(const L &left, const R &right, const D &destination,
                                             int k) {
        static_assert(!__ingot_is_cooperative<L> && !__ingot_is_cooperative<R>,
                      "cooperative tensors need m and n");
        int m = __ingot_is_stated(Descriptor.m) ? Descriptor.m : int(destination.__limits[1]);
        int n = __ingot_is_stated(Descriptor.n) ? Descriptor.n : int(destination.__limits[0]);
        m = m < int(destination.__limits[1]) ? m : int(destination.__limits[1]);
        n = n < int(destination.__limits[0]) ? n : int(destination.__limits[0]);
        constexpr int side = by_thread ? 4 : 32, own = by_thread ? 1 : simdgroups;
        constexpr matmul2d_descriptor piece(side, side, Descriptor.k, ta, tb,
                                            Descriptor.relaxed_precision, Descriptor.matmul_mode);
        using operation =
            matmul2d<piece, conditional_t<by_thread, execution_thread, execution_simdgroup>>;
        int across = (n + side - 1) / side, count = (m + side - 1) / side * across;
        for (int i = own == 1 ? 0 : int(__ingot_simdgroup_index_in_threadgroup()); i < count;
             i += own) {
            int row = i / across * side, column = i % across * side;
            auto a = ta ? left.slice(row, 0) : left.slice(0, row);
            auto b = tb ? right.slice(0, column) : right.slice(column, 0);
            auto d = destination.slice(column, row);
            d.__limits[0] = n - column < int(d.__limits[0]) ? n - column : d.__limits[0];
            d.__limits[1] = m - row < int(d.__limits[1]) ? m - row : d.__limits[1];
            operation().run(a, b, d);
        }
    }
    template <class D, class L, class R>
    static __ingot_inline void run_by_thread(const L &left, const R &right, D &result, int k) {
        using T = typename D::value_type;
        using sum = conditional_t<__is_integral(T), T, float>;
        for (int i = 0; i < M * N; i++) {
            int row = i / N, column = i % N;
            sum total = accumulate ? sum(result.__elements[i]) : sum(0);
            for (int step = 0; step < k; step++) {
                sum a = sum(thread_element<ta>(left, step, row));
                sum b = sum(thread_element<tb>(right, column, step));
                if constexpr (__is_integral(T)) {
                    total += a * b;
                } else {
                    total = metal::fma(a, b, total);
                }
            }
            result.__elements[i] = __ingot_converted<T>(total);
        }
    }
    template <bool TRANSPOSED, class O>
    static __ingot_inline auto thread_element(const O &operand, int x, int y) {
        if constexpr (__ingot_is_cooperative<O>) {
            return operand
                .__elements[TRANSPOSED ? x * O::layout::extent0 + y : y * O::layout::extent0 + x];
        } else {
            auto matrix = __ingot_matrix_of(operand);
            return TRANSPOSED ? matrix.load(y, x) : matrix.load(x, y);
        }
    }
};

/* ---- reductions
 * ------------------------------------------------------------------------------------ */
template <class T> __ingot_inline T __ingot_reduced(T a, T b, reduction_operation operation) {
    return operation == reduction_operation::sum   ? T(a + b)
           : operation == reduction_operation::max ? (a < b ? b : a)
                                                   : (b < a ? b : a);
}
template <bool ROWS, class T, class From, class To>
__ingot_inline void __ingot_reduce(const From &source, To &destination, T identity,
                                   reduction_operation operation) {
    using layout = typename From::layout;
    using reduced = __ingot_reduced_layout<layout, ROWS>;
    static_assert(__is_same(typename To::layout, reduced),
                  "the destination is not that of this operation's reduction");
    static_assert(layout::simdgroups <= 1, "rows and columns are reduced by one SIMD-group");
    __INGOT_UNROLL for (int i = 0; i < To::layout::capacity; i++) {
        destination.__elements[i] = identity;
    }
    __INGOT_UNROLL for (int i = 0; i < layout::capacity; i++) {
        int at = ROWS ? layout::row_number(i) : layout::column_number(i);
        T value = layout::valid(i) ? source.__elements[i] : identity;
        destination.__elements[at] = __ingot_reduced(destination.__elements[at], value, operation);
    }
    if constexpr (layout::simdgroups == 1) { /* lanes that have the same rows, or columns */
        __INGOT_UNROLL for (int i = 0; i < To::layout::capacity; i++) {
            T value = destination.__elements[i];
            __INGOT_UNROLL for (uint bit = 1; bit < 32; bit *= 2) {
                if ((bit == 1 || bit == 8) == ROWS) {
                    value = __ingot_reduced(value, simd_shuffle_xor(value, ushort(bit)), operation);
                }
            }
            destination.__elements[i] = value;
        }
    }
}
template <class T, class SE, class DE, class SL, class DL>
__ingot_inline void
reduce_rows(const cooperative_tensor<T, SE, SL> &source, cooperative_tensor<T, DE, DL> &destination,
            reduction_operation operation = reduction_operation::sum,
            type_identity_t<T> identity = reduction_operation_identity<T>::sum_identity) {
    __ingot_reduce<true>(source, destination, T(identity), operation);
}
template <class T, class SE, class DE, class SL, class DL>
__ingot_inline void
reduce_columns(const cooperative_tensor<T, SE, SL> &source,
               cooperative_tensor<T, DE, DL> &destination,
               reduction_operation operation = reduction_operation::sum,
               type_identity_t<T> identity = reduction_operation_identity<T>::sum_identity) {
    __ingot_reduce<false>(source, destination, T(identity), operation);
}
template <class S, class D, class SE, class DE, class SL, class DL>
__ingot_inline constexpr bool is_iterator_compatible(const cooperative_tensor<S, SE, SL> &,
                                                     const cooperative_tensor<D, DE, DL> &) {
    return __is_same(SL, DL) || __ingot_maps_onto<SL, DL>();
}
} // namespace tensor_ops
} // namespace mpp
