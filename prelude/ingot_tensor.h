/*
 * metal::extents and metal::tensor: a view of memory with a rank, extents and strides, of
 * which dimension 0 is the innermost. Needs C++23.
 *
 * A tensor knows how many elements there are from its origin on (`__limits`): load() gives 0
 * and store() does nothing beyond, and so do the operations on tensors, also where an extent
 * is a number that the type states. A tensor_handle is bound by the host
 * (ingot_tensor_parameters.h).
 */
#pragma once
#include "ingot_array.h"
#include "ingot_types.h"

namespace metal {
inline constexpr size_t dynamic_extent = ~0ul;

template <class IndexType, size_t... Extents> struct extents {
    using index_type = IndexType;
    using size_type = make_unsigned_t<IndexType>;
    using rank_type = size_t;
    static constexpr size_t __rank = sizeof...(Extents);
    static constexpr size_t __static[__rank ? __rank : 1] = {Extents...};

    index_type __values[__rank ? __rank : 1];

    static __ingot_inline constexpr rank_type rank() {
        return __rank;
    }
    static __ingot_inline constexpr rank_type rank_dynamic() {
        return (size_t(0) + ... + size_t(Extents == dynamic_extent));
    }
    static __ingot_inline constexpr size_t static_extent(rank_type r) {
        return __static[r];
    }
    __ingot_inline constexpr index_type extent(rank_type r) const {
        return __static[r] == dynamic_extent ? __values[r] : index_type(__static[r]);
    }

    /* Extents that are not stated are 0. */
    __ingot_inline constexpr extents() : __values{} {
        for (size_t r = 0; r < __rank; r++) {
            __values[r] = __static[r] == dynamic_extent ? index_type(0) : index_type(__static[r]);
        }
    }
    /* All of them, or those that the type does not state. */
    template <class... I>
        requires((sizeof...(I) == __rank || sizeof...(I) == rank_dynamic()) && sizeof...(I) > 0 &&
                 (__is_convertible(I, IndexType) && ...))
    __ingot_inline constexpr extents(I... values) : __values{} {
        const index_type given[] = {index_type(values)...};
        size_t next = 0;
        for (size_t r = 0; r < __rank; r++) {
            bool is_dynamic = __static[r] == dynamic_extent;
            __values[r] =
                is_dynamic ? given[sizeof...(I) == __rank ? r : next] : index_type(__static[r]);
            next += is_dynamic;
        }
    }
    template <class U>
    __ingot_inline constexpr extents(const array<U, __rank> &given) : __values{} {
        for (size_t r = 0; r < __rank; r++) {
            __values[r] =
                __static[r] == dynamic_extent ? index_type(given[r]) : index_type(__static[r]);
        }
    }
    template <class U, size_t... Others>
        requires(sizeof...(Others) == __rank)
    __ingot_inline constexpr extents(const extents<U, Others...> &other) : __values{} {
        for (size_t r = 0; r < __rank; r++) {
            __values[r] = __static[r] == dynamic_extent ? index_type(other.extent(r))
                                                        : index_type(__static[r]);
        }
    }
};
template <class... I> extents(I...) -> extents<size_t, (I(), dynamic_extent)...>;

template <class IndexType, class Sequence> struct __ingot_dextents;
template <class IndexType, size_t... I> struct __ingot_dextents<IndexType, index_sequence<I...>> {
    using type = extents<IndexType, (I, dynamic_extent)...>;
};
template <class IndexType, size_t Rank>
using dextents = typename __ingot_dextents<IndexType, make_index_sequence<Rank>>::type;

/* ---- elements ----------------------------------------------------------------------------- */
/* Two elements in a byte, the first in the lower half. */
struct int4b_format {};
struct uint4b_format {};

template <class T> constexpr bool __ingot_is_nibble = false;
template <> inline constexpr bool __ingot_is_nibble<int4b_format> = true;
template <> inline constexpr bool __ingot_is_nibble<uint4b_format> = true;

/* What a tensor of ElementType points to, with its address space, and what its elements are. */
template <class T> struct __ingot_element {
    using storage = T;
};
#define __INGOT_PACKED_ELEMENTS(SPACE)                                                             \
    template <> struct __ingot_element<SPACE int4b_format> {                                       \
        using storage = SPACE uchar;                                                               \
    };                                                                                             \
    template <> struct __ingot_element<SPACE uint4b_format> {                                      \
        using storage = SPACE uchar;                                                               \
    };
#define __INGOT_PACKED_ELEMENTS_IN(SPACE)                                                          \
    __INGOT_PACKED_ELEMENTS(SPACE)                                                                 \
    __INGOT_PACKED_ELEMENTS(const SPACE)
__INGOT_PACKED_ELEMENTS_IN()
__INGOT_PACKED_ELEMENTS_IN(__ingot_device)
__INGOT_PACKED_ELEMENTS_IN(__ingot_threadgroup)
__INGOT_PACKED_ELEMENTS(__ingot_constant)
#undef __INGOT_PACKED_ELEMENTS_IN
#undef __INGOT_PACKED_ELEMENTS

/* Element `index` of memory that holds Ts. */
template <class T, class P> __ingot_inline auto __ingot_read_element(P *data, long index) {
    if constexpr (__is_same(T, int4b_format)) {
        return int8_t(int8_t(data[index >> 1] << (index & 1 ? 0 : 4)) >> 4);
    } else if constexpr (__is_same(T, uint4b_format)) {
        return uint8_t(data[index >> 1] >> (index & 1 ? 4 : 0) & 15);
    } else {
        return T(data[index]);
    }
}

/* ---- tensors -------------------------------------------------------------------------------- */
struct tensor_handle {};
struct tensor_inline {};
struct tensor_offset {};

constexpr int __ingot_max_rank = 16;

template <class ElementType, class Extents, class DescriptorType = tensor_handle, class... Tags>
struct tensor {
    using element_type = ElementType;
    using value_type = __ingot_bare_t<ElementType>;
    using extents_type = Extents;
    using index_type = typename Extents::index_type;
    using size_type = typename Extents::size_type;
    using rank_type = typename Extents::rank_type;
    using descriptor_type = DescriptorType;
    using data_handle_type = typename __ingot_element<ElementType>::storage *;
    using reference = ElementType &;
    static constexpr size_t __rank = Extents::__rank;
    static_assert(__rank > 0 && __rank <= size_t(__ingot_max_rank),
                  "a tensor has from 1 to 16 dimensions");

    data_handle_type __data;
    long __origin; /* in elements, from __data */
    Extents __extents;
    index_type __limits[__rank], __strides[__rank];

    __ingot_inline tensor() = default;
    __ingot_inline tensor(data_handle_type data, const Extents &extents)
        : __data(data), __origin(0), __extents(extents) {
        index_type stride = 1;
        for (size_t r = 0; r < __rank; r++) {
            __limits[r] = extents.extent(r);
            __strides[r] = stride;
            stride *= extents.extent(r);
        }
    }
    template <class U>
    __ingot_inline tensor(data_handle_type data, const Extents &extents,
                          const array<U, __rank> &strides)
        : __data(data), __origin(0), __extents(extents) {
        for (size_t r = 0; r < __rank; r++) {
            __limits[r] = extents.extent(r);
            __strides[r] = index_type(strides[r]);
        }
    }
    /* Of the same memory; extents that the type states are taken on trust. */
    template <class OtherExtents, class... OtherTags>
        requires(OtherExtents::__rank == __rank)
    __ingot_inline
    tensor(const tensor<ElementType, OtherExtents, DescriptorType, OtherTags...> &other)
        : __data(other.__data), __origin(other.__origin), __extents(other.__extents) {
        for (size_t r = 0; r < __rank; r++) {
            __limits[r] = index_type(other.__limits[r]);
            __strides[r] = index_type(other.__strides[r]);
        }
    }

    static __ingot_inline constexpr size_t get_rank() {
        return __rank;
    }
    static __ingot_inline constexpr size_t get_static_extent(rank_type r) {
        return Extents::static_extent(r);
    }
    __ingot_inline index_type get_extent(rank_type r) const {
        return __extents.extent(r);
    }
    __ingot_inline index_type get_stride(rank_type r) const {
        return __strides[r];
    }
    __ingot_inline const Extents &extents() const {
        return __extents;
    }
    __ingot_inline const Extents &get_extents() const {
        return __extents;
    }
    __ingot_inline data_handle_type data_handle() const {
        static_assert(!__ingot_is_nibble<value_type>, "elements of 4 bits have no address");
        return __data + __origin;
    }
    __ingot_inline data_handle_type get_data_handle() const {
        return data_handle();
    }

    /* ---- elements ---- */
    template <class... I> __ingot_inline long __index(I... indices) const {
        static_assert(sizeof...(I) == __rank, "as many indices as the tensor has dimensions");
        size_t r = 0;
        return (__origin + ... + (long(indices) * long(__strides[r++])));
    }
    template <class... I> __ingot_inline bool __is_inside(I... indices) const {
        static_assert(sizeof...(I) == __rank, "as many indices as the tensor has dimensions");
        size_t r = 0;
        return (true & ... & (ulong(long(indices)) < ulong(long(__limits[r++]))));
    }
    template <class... I>
        requires(sizeof...(I) == __rank && (__is_convertible(I, index_type) && ...))
    __ingot_inline reference operator[](I... indices) const {
        return __data[__index(indices...)];
    }
    template <class... I>
        requires(sizeof...(I) == __rank && (__is_convertible(I, index_type) && ...))
    __ingot_inline auto load(I... indices) const {
        using value = decltype(__ingot_read_element<value_type>(__data, 0l));
        return __is_inside(indices...)
                   ? __ingot_read_element<value_type>(__data, __index(indices...))
                   : value(0);
    }
    template <class... I>
        requires(sizeof...(I) == __rank && (__is_convertible(I, index_type) && ...))
    __ingot_inline void store(value_type value, I... indices) const {
        if (__is_inside(indices...)) {
            __data[__index(indices...)] = value;
        }
    }
    template <class U, size_t... R>
    __ingot_inline decltype(auto) __apply(const array<U, __rank> &at, index_sequence<R...>,
                                          auto action) const {
        return action(at[R]...);
    }
    template <class U> __ingot_inline reference operator[](const array<U, __rank> &at) const {
        return __apply(at, make_index_sequence<__rank>{},
                       [this](auto... i) -> reference { return (*this)[i...]; });
    }
    template <class U> __ingot_inline auto load(const array<U, __rank> &at) const {
        return __apply(at, make_index_sequence<__rank>{},
                       [this](auto... i) { return this->load(i...); });
    }
    template <class U>
    __ingot_inline void store(value_type value, const array<U, __rank> &at) const {
        __apply(at, make_index_sequence<__rank>{},
                [this, value](auto... i) { this->store(value, i...); });
    }

    /* ---- slices ---- */
    template <size_t... E> struct __sliced {
        static constexpr size_t given[] = {E..., 0};
        template <size_t... R>
        static metal::extents<index_type, (R < sizeof...(E) ? given[R] : dynamic_extent)...>
            made(index_sequence<R...>);
        using extents = decltype(made(make_index_sequence<__rank>{}));
        using type = conditional_t<__is_same(DescriptorType, tensor_inline),
                                   tensor<ElementType, extents, tensor_inline>,
                                   tensor<ElementType, extents, tensor_handle, tensor_offset>>;
    };
    /* From `indices` on; extents that are not given are what is left. */
    template <size_t... E, class... I>
        requires(sizeof...(I) == __rank && sizeof...(E) <= __rank)
    __ingot_inline typename __sliced<E...>::type slice(I... indices) const {
        typename __sliced<E...>::type result;
        const index_type at[] = {index_type(indices)...};
        result.__data = __data;
        result.__origin = __index(indices...);
        for (size_t r = 0; r < __rank; r++) {
            index_type left = __limits[r] > at[r] ? index_type(__limits[r] - at[r]) : index_type(0);
            size_t stated = __sliced<E...>::extents::static_extent(r);
            bool shorter = stated != dynamic_extent && index_type(stated) < left;
            result.__extents.__values[r] = stated == dynamic_extent ? left : index_type(stated);
            result.__limits[r] = shorter ? index_type(stated) : left;
            result.__strides[r] = __strides[r];
        }
        return result;
    }
    template <size_t... E, class... I> __ingot_inline auto static_slice(I... indices) const {
        return slice<E...>(indices...);
    }
};
template <class T, class Extents> tensor(T *, Extents) -> tensor<T, Extents, tensor_inline>;
template <class T, class Extents, class U, size_t N>
tensor(T *, Extents, array<U, N>) -> tensor<T, Extents, tensor_inline>;

template <class T> constexpr bool is_tensor_handle_v = false;
template <class T, class E, class... Tags>
constexpr bool is_tensor_handle_v<tensor<T, E, tensor_handle, Tags...>> = true;
template <class T> constexpr bool is_tensor_inline_v = false;
template <class T, class E, class... Tags>
constexpr bool is_tensor_inline_v<tensor<T, E, tensor_inline, Tags...>> = true;
template <class T> constexpr bool has_tensor_offset_v = false;
template <class T, class E, class D, class... Tags>
constexpr bool has_tensor_offset_v<tensor<T, E, D, Tags...>> =
    (__is_same(Tags, tensor_offset) || ...);
template <class T> constexpr bool is_tensor_v = false;
template <class T, class E, class D, class... Tags>
constexpr bool is_tensor_v<tensor<T, E, D, Tags...>> = true;

/* ---- execution scopes -------------------------------------------------------------------------
 */
template <size_t Size> struct execution_simdgroups {
    static_assert(Size != 0, "an operation is executed by one SIMD-group at least");
    static constexpr size_t static_size = Size;
    __ingot_inline constexpr uint size() const {
        return uint(Size);
    }
};
template <size_t Size> struct execution_threads {
    static_assert(Size == 1, "an operation is executed by one thread or by SIMD-groups");
    static constexpr size_t static_size = Size;
    __ingot_inline constexpr uint size() const {
        return uint(Size);
    }
};
using execution_simdgroup = execution_simdgroups<1>;
using execution_thread = execution_threads<1>;
template <class T> constexpr bool is_execution_thread_v = __is_same(T, execution_thread);
template <class T> constexpr bool is_execution_simdgroups_v = false;
template <size_t Size> constexpr bool is_execution_simdgroups_v<execution_simdgroups<Size>> = true;
} // namespace metal
