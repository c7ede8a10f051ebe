/*
 * What a rewritten kernel calls at its top to get its parameters:
 *
 *   device float *x = __ingot_parameter<decltype(x), ORDINAL, INDEX>("x");
 *   constant Args &a = __ingot_parameter_if<decltype(a), ORDINAL, INDEX>("a", condition);
 *   uint i = __ingot_builtin_thread_position_in_grid<decltype(i)>();
 *
 * The first two report the parameter (__ingot_param, read and deleted by the compiler) and fetch
 * its address. The third converts to whatever integer scalar or vector was asked for.
 */
#pragma once
#include "ingot_atomics.h"
#include "ingot_packed.h"

/* ---- what a type is, as ingot_scalar_type in ingot.h
 * --------------------------------------------- */
template <class T> struct __ingot_shape {
    static constexpr uint scalar = 0;
    static constexpr uint components = 0;
};
#define __INGOT_SHAPE(T, code)                                                                     \
    template <> struct __ingot_shape<T> {                                                          \
        static constexpr uint scalar = code;                                                       \
        static constexpr uint components = 1;                                                      \
    };
__INGOT_SHAPE(bool, 1)
__INGOT_SHAPE(char, 2)
__INGOT_SHAPE(int8_t, 2)
__INGOT_SHAPE(uchar, 3)
__INGOT_SHAPE(short, 4)
__INGOT_SHAPE(ushort, 5)
__INGOT_SHAPE(int, 6)
__INGOT_SHAPE(uint, 7)
__INGOT_SHAPE(long, 8)
__INGOT_SHAPE(ulong, 9)
__INGOT_SHAPE(half, 10)
__INGOT_SHAPE(bfloat, 11)
__INGOT_SHAPE(float, 12)
#undef __INGOT_SHAPE
template <class T, int N> struct __ingot_shape<metal::vec<T, N>> {
    static constexpr uint scalar = __ingot_shape<T>::scalar;
    static constexpr uint components = N;
};
template <class T, int N>
struct __ingot_shape<metal::packed_vec<T, N>> : __ingot_shape<metal::vec<T, N>> {};
template <class T> struct __ingot_shape<metal::atomic<T>> : __ingot_shape<T> {};

/* An enumeration is its underlying type. */
template <class T, bool = __is_enum(T)> struct __ingot_shape_of : __ingot_shape<T> {};
template <class T> struct __ingot_shape_of<T, true> : __ingot_shape<__underlying_type(T)> {};

/* What a threadgroup variable can be: nothing runs when it comes to be, or what a constant does. */
template <int> struct __ingot_known;
template <class T, class = void> struct __ingot_is_constant {
    static constexpr bool value = false;
};
template <class T>
struct __ingot_is_constant<T, decltype(void((__ingot_known<(T(), 0)> *)nullptr))> {
    static constexpr bool value = true;
};
template <class T> struct __ingot_plain {
    static constexpr bool value =
        __is_trivially_constructible(T) || __ingot_is_constant<metal::__ingot_bare_t<T>>::value;
};
template <class T, metal::size_t N> struct __ingot_plain<T[N]> : __ingot_plain<T> {};
template <class T> constexpr bool __ingot_is_plain = __ingot_plain<T>::value;

/* The function's own name as clang spells it, "… [T = float]"; the compiler cuts it out. */
template <class T> __ingot_inline constexpr const char *__ingot_type_name() {
    return __PRETTY_FUNCTION__;
}

/* ---- buffers and threadgroup memory
 * ----------------------------------------------------------------- */
template <class T> struct __ingot_space {
    static constexpr uint value = 0;
};
template <class T> struct __ingot_space<__ingot_device T> {
    static constexpr uint value = 1;
};
template <class T> struct __ingot_space<__ingot_threadgroup T> {
    static constexpr uint value = 3;
};
template <class T> struct __ingot_space<__attribute__((opencl_global_host)) T> {
    static constexpr uint value = 6;
};

/* The members of a struct behind a parameter: __ingot_fields, which the rewriter writes where they
 * are asked for, names them in turn. Each is reported with its number: that of [[id(n)]], or the
 * one behind the last; an array has one for each element. NEXT is below 0 from a member on that is
 * not understood. */
template <class M> struct __ingot_elements {
    using type = M;
    static constexpr uint count = 1;
};
template <class M, ulong N> struct __ingot_elements<M[N]> : __ingot_elements<M> {
    static constexpr uint count = N * __ingot_elements<M>::count;
};
template <class M, size_t N>
struct __ingot_elements<metal::array<M, N>> : __ingot_elements<M[N]> {};
template <class P> constexpr uint __ingot_field_space = 0;
template <class P> constexpr uint __ingot_field_space<P *> = __ingot_space<P>::value;
template <class P> constexpr uint __ingot_field_space<P *const> = __ingot_space<P>::value;
template <uint ORDINAL, long NEXT> struct __ingot_reported {
    template <class M, ulong OFFSET, long ID> __ingot_inline auto field(const char *name) const {
        using elements = __ingot_elements<metal::remove_cv_t<M>>;
        using E = metal::remove_cv_t<typename elements::type>;
        constexpr uint space = __ingot_field_space<typename elements::type>;
        constexpr long id = NEXT < 0 ? NEXT : ID < 0 ? NEXT : ID;
        constexpr bool known = id >= 0 && (space || __ingot_shape_of<E>::scalar);
        if constexpr (known) {
            __ingot_param(ORDINAL, 3, space, uint(id), sizeof(E), OFFSET,
                          __ingot_shape_of<E>::scalar, __ingot_shape_of<E>::components,
                          elements::count, true, name, __ingot_type_name<E>());
            return __ingot_reported<ORDINAL, id + elements::count>{};
        } else {
            return unknown();
        }
    }
    __ingot_inline auto unknown() const {
        if constexpr (NEXT >= 0) {
            __ingot_param(ORDINAL, 3, 0, ~0u, 0, 0, 0, 0, 0, true, "", "");
        }
        return __ingot_reported<ORDINAL, -1>{};
    }
};
template <class T, uint ORDINAL, class = void> struct __ingot_fields_of {
    static __ingot_inline void report() {}
};
template <class T, uint ORDINAL>
struct __ingot_fields_of<T, ORDINAL, typename T::__ingot_has_fields> {
    static __ingot_inline void report() {
        (void)T::__ingot_fields(__ingot_reported<ORDINAL, 0>{});
    }
};

/* P is the pointee with its address space, const and volatile. */
template <class P, uint ORDINAL, uint INDEX, bool REFERENCE>
__ingot_inline P *__ingot_fetch_argument(const char *name, bool active) {
    constexpr uint space = __ingot_space<P>::value;
    using T = metal::__ingot_bare_t<P>;
    constexpr uint kind = space == 3 ? 2 : 1;
    constexpr uint flags = (REFERENCE ? 1 : 0) | (space != 6 && !__is_const(P) ? 2 : 0);
    ulong size = 1, align = 1;
    if constexpr (!__is_void(T)) {
        size = sizeof(T);
        align = alignof(T);
    }
    __ingot_param(ORDINAL, kind, space, INDEX, size, align, __ingot_shape_of<T>::scalar,
                  __ingot_shape_of<T>::components, flags, active, name, __ingot_type_name<T>());
    __ingot_fields_of<T, ORDINAL>::report();
    if constexpr (space == 1) {
        return (P *)__ingot_arg_device(ORDINAL);
    } else if constexpr (space == 3) {
        return (P *)__ingot_arg_threadgroup(ORDINAL);
    } else {
        return (P *)__ingot_arg_constant(ORDINAL);
    }
}

/* Asserted in classes: clang says where it meets one, but of functions that it left for the end. */
template <class T, bool good> struct __ingot_is_parameter {
    static_assert(good, "a kernel parameter must be a built-in value with its attribute, such as "
                        "[[thread_position_in_grid]], or a pointer or reference to device, "
                        "constant or threadgroup memory");
};
template <class T, class = void>
struct __ingot_value_argument : __ingot_is_parameter<T, !__is_same(T, T)> {};
template <class T> struct __ingot_argument : __ingot_value_argument<T> {};
template <class P>
struct __ingot_argument<P *> : __ingot_is_parameter<P *, __ingot_space<P>::value != 0> {
    template <uint ORDINAL, uint INDEX>
    static __ingot_inline P *fetch(const char *name, bool active) {
        return __ingot_fetch_argument<P, ORDINAL, INDEX, false>(name, active);
    }
};
template <class P> struct __ingot_argument<P *const> : __ingot_argument<P *> {};
template <class P> struct __ingot_argument<P *__restrict> : __ingot_argument<P *> {};
template <class P> struct __ingot_argument<P *const __restrict> : __ingot_argument<P *> {};
template <class P>
struct __ingot_argument<P &> : __ingot_is_parameter<P *, __ingot_space<P>::value != 0> {
    template <uint ORDINAL, uint INDEX>
    static __ingot_inline P &fetch(const char *name, bool active) {
        return *__ingot_fetch_argument<P, ORDINAL, INDEX, true>(name, active);
    }
};
template <class P> struct __ingot_argument<P &__restrict> : __ingot_argument<P &> {};

/* What INDEX says: n + __ingot_in_buffer of [[buffer(n)]], n + __ingot_in_threadgroup of
 * [[threadgroup(n)]]; ~0u: no index was given. */
constexpr long __ingot_in_buffer = 1l << 40, __ingot_in_threadgroup = 2l << 40;
template <long INDEX> struct __ingot_numbered {
    static constexpr long kind = (INDEX + (1l << 39)) >> 40;
    static constexpr long number = INDEX - (kind << 40);
    static_assert((number >= 0 && number < 64) || INDEX == 0xffffffff,
                  "a kernel parameter must be numbered from 0 to 63");
    static constexpr uint value = uint(number);
};

template <class T> struct __ingot_space_behind {
    static constexpr uint value = 0;
};
template <class P> struct __ingot_space_behind<P *> : __ingot_space<P> {};
template <class P> struct __ingot_space_behind<P &> : __ingot_space<P> {};
template <class T, long INDEX> struct __ingot_attributed {
    static constexpr bool shared = __ingot_space_behind<metal::remove_cv_t<T>>::value == 3;
    static constexpr long kind = __ingot_numbered<INDEX>::kind;
    static_assert(kind != 1 || !shared,
                  "a kernel parameter must be in device or constant memory to have [[buffer]]; "
                  "threadgroup memory has [[threadgroup(n)]]");
    static_assert(kind != 2 || shared,
                  "a kernel parameter must be in threadgroup memory to have [[threadgroup]]; "
                  "device and constant memory have [[buffer(n)]]");
    static constexpr uint index = __ingot_numbered<INDEX>::value;
};

/* A struct taken by value, whose members are parameters: __ingot_members, which the rewriter
 * wrote, names them in turn, each with the ORDINAL that is next. */
template <uint ORDINAL> struct __ingot_filled {
    static constexpr uint ordinal = ORDINAL;
    char *record;
    template <class M, ulong OFFSET, long INDEX>
    __ingot_inline auto member(const char *name) const {
        if constexpr (__is_class(M)) {
            using T = metal::remove_cv_t<M>;
            using end = decltype(T::__ingot_members(__ingot_filled{record + OFFSET}));
            (void)T::__ingot_members(__ingot_filled{record + OFFSET});
            return __ingot_filled<end::ordinal>{record};
        } else {
            constexpr uint index = __ingot_attributed<M, INDEX>::index;
            auto *address = [&] {
                if constexpr (__is_reference(M)) {
                    return &__ingot_argument<M>::template fetch<ORDINAL, index>(name, true);
                } else {
                    return __ingot_argument<metal::remove_cv_t<M>>::template fetch<ORDINAL, index>(
                        name, true);
                }
            }();
            __builtin_memcpy(record + OFFSET, &address, sizeof address);
            return __ingot_filled<ORDINAL + 1>{record};
        }
    }
    template <class M, ulong OFFSET>
    __ingot_inline __ingot_filled value(metal::remove_cv_t<M> x) const {
        __builtin_memcpy(record + OFFSET, &x, sizeof x);
        return *this;
    }
};
template <class T> struct __ingot_value_argument<T, typename T::__ingot_record> {
    template <uint ORDINAL, uint> static __ingot_inline T fetch(const char *, bool) {
        alignas(T) char record[sizeof(T)];
        (void)T::__ingot_members(__ingot_filled<ORDINAL>{record});
        return *reinterpret_cast<T *>(record);
    }
};
/* How many parameters the members of T are beyond one. */
template <class T, class = void> constexpr uint __ingot_more = 0;
template <class T>
inline constexpr uint __ingot_more<T, typename T::__ingot_record> =
    decltype(metal::remove_cv_t<T>::__ingot_members(__ingot_filled<0>{}))::ordinal - 1;

template <class T, uint ORDINAL, long INDEX>
__ingot_inline decltype(auto) __ingot_parameter(const char *name) {
    return __ingot_argument<T>::template fetch<ORDINAL, __ingot_attributed<T, INDEX>::index>(name,
                                                                                             true);
}
template <class T, uint ORDINAL, long INDEX>
__ingot_inline decltype(auto) __ingot_parameter_if(const char *name, bool active) {
    return __ingot_argument<T>::template fetch<ORDINAL, __ingot_attributed<T, INDEX>::index>(
        name, active);
}

/* [[required_threads_per_threadgroup(x, y, z)]]: no more than so many. */
constexpr uint __ingot_threads_of(uint x, uint y = 1, uint z = 1) {
    return x * y * z;
}

/* ---- built-in values
 * -------------------------------------------------------------------------------- */
/* Also asserted in classes. */
template <class T> struct __ingot_width {
    static constexpr int value = __is_integral(T) ? 1 : 0;
};
template <class T, int N> struct __ingot_width<metal::vec<T, N>> {
    static constexpr int value = __is_integral(T) ? N : 0;
};
template <class T> struct __ingot_position {
    template <class F> static __ingot_inline T make(F at) {
        return (T)at(0);
    }
};
template <class T> struct __ingot_position<metal::vec<T, 2>> {
    template <class F> static __ingot_inline metal::vec<T, 2> make(F at) {
        return metal::vec<T, 2>((T)at(0), (T)at(1));
    }
};
template <class T> struct __ingot_position<metal::vec<T, 3>> {
    template <class F> static __ingot_inline metal::vec<T, 3> make(F at) {
        return metal::vec<T, 3>((T)at(0), (T)at(1), (T)at(2));
    }
};

#define __INGOT_POSITION(name, expression)                                                         \
    template <class T, int width> struct __ingot_holds_##name {                                    \
        static_assert(width >= 1 && width <= 3,                                                    \
                      "a kernel parameter must be ushort or uint, or a vector of 2 or 3 of them, " \
                      "to have [[" #name "]]");                                                    \
        using type = T;                                                                            \
    };                                                                                             \
    template <class T> __ingot_inline metal::remove_cvref_t<T> __ingot_builtin_##name() {          \
        using checked =                                                                            \
            typename __ingot_holds_##name<T,                                                       \
                                          __ingot_width<metal::remove_cvref_t<T>>::value>::type;   \
        return __ingot_position<metal::remove_cvref_t<checked>>::make(                             \
            [](uint dim) __attribute__((always_inline)) -> uint { return expression; });           \
    }
#define __INGOT_INDEX(name, expression)                                                            \
    template <class T, int width> struct __ingot_holds_##name {                                    \
        static_assert(width == 1,                                                                  \
                      "a kernel parameter must be ushort or uint to have [[" #name "]]");          \
        using type = T;                                                                            \
    };                                                                                             \
    template <class T> __ingot_inline metal::remove_cvref_t<T> __ingot_builtin_##name() {          \
        using checked =                                                                            \
            typename __ingot_holds_##name<T,                                                       \
                                          __ingot_width<metal::remove_cvref_t<T>>::value>::type;   \
        return (metal::remove_cvref_t<checked>)(expression);                                       \
    }
__INGOT_POSITION(thread_position_in_grid, __ingot_thread_position_in_grid(dim))
__INGOT_POSITION(thread_position_in_threadgroup, __ingot_thread_position_in_threadgroup(dim))
__INGOT_POSITION(threadgroup_position_in_grid, __ingot_threadgroup_position_in_grid(dim))
__INGOT_POSITION(threads_per_threadgroup, __ingot_threads_per_threadgroup(dim))
__INGOT_POSITION(dispatch_threads_per_threadgroup, __ingot_dispatch_threads_per_threadgroup(dim))
__INGOT_POSITION(threads_per_grid, __ingot_threads_per_grid(dim))
__INGOT_POSITION(threadgroups_per_grid, __ingot_threadgroups_per_grid(dim))
__INGOT_POSITION(grid_origin, (void(dim), 0u))
__INGOT_POSITION(grid_size, __ingot_threads_per_grid(dim))
__INGOT_INDEX(thread_index_in_threadgroup, __ingot_thread_index_in_threadgroup())
__INGOT_INDEX(thread_index_in_simdgroup, __ingot_thread_index_in_simdgroup())
__INGOT_INDEX(simdgroup_index_in_threadgroup, __ingot_simdgroup_index_in_threadgroup())
__INGOT_INDEX(simdgroups_per_threadgroup, __ingot_simdgroups_per_threadgroup())
__INGOT_INDEX(dispatch_simdgroups_per_threadgroup, __ingot_dispatch_simdgroups_per_threadgroup())
__INGOT_INDEX(thread_execution_width, 32u)
__INGOT_INDEX(threads_per_simdgroup, 32u)
__INGOT_INDEX(thread_index_in_quadgroup, __ingot_thread_index_in_simdgroup() & 3u)
__INGOT_INDEX(quadgroup_index_in_threadgroup, __ingot_thread_index_in_threadgroup() >> 2)
__INGOT_INDEX(quadgroup_index_in_simdgroup, __ingot_thread_index_in_simdgroup() >> 2)
__INGOT_INDEX(quadgroups_per_threadgroup,
              (__ingot_threads_per_threadgroup(0) * __ingot_threads_per_threadgroup(1) *
                   __ingot_threads_per_threadgroup(2) +
               3u) >>
                  2)
__INGOT_INDEX(dispatch_quadgroups_per_threadgroup,
              (__ingot_dispatch_threads_per_threadgroup(0) *
                   __ingot_dispatch_threads_per_threadgroup(1) *
                   __ingot_dispatch_threads_per_threadgroup(2) +
               3u) >>
                  2)
#undef __INGOT_POSITION
#undef __INGOT_INDEX
