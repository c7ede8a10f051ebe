/*
 * Scalar types and type traits. Names that kernels define for themselves in namespace metal
 * (void_t, is_empty, pointer_element, …) are left to them.
 */
#pragma once
#include "ingot_builtins.h"
#include "ingot_macros.h"

#define __ingot_inline inline __attribute__((always_inline))
/* A call that Apple's compiler refuses and this one takes: a warning where the program makes it. */
#define __ingot_warn_if(condition, message)                                                        \
    __attribute__((diagnose_if(condition, message, "warning")))
#define __INGOT_AMBIGUOUS "Apple's compiler finds a call with arguments of these types ambiguous"

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef _Float16 half;
typedef __bf16 bfloat;
typedef signed char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;

/* X(T) for every scalar type that has vectors. */
#define __INGOT_INTEGERS(X) X(char) X(uchar) X(short) X(ushort) X(int) X(uint) X(long) X(ulong)
#define __INGOT_FLOATS(X)   X(half) X(float) X(bfloat)
#define __INGOT_SCALARS(X)  X(bool) __INGOT_INTEGERS(X) __INGOT_FLOATS(X)

namespace metal {
using ::bfloat;
using ::half;
using ::int16_t;
using ::int32_t;
using ::int64_t;
using ::int8_t;
using ::intptr_t;
using ::ptrdiff_t;
using ::size_t;
using ::uchar;
using ::uint;
using ::uint16_t;
using ::uint32_t;
using ::uint64_t;
using ::uint8_t;
using ::uintptr_t;
using ::ulong;
using ::ushort;

typedef decltype(nullptr) nullptr_t;

/* ---- constants and logic -------------------------------------------------------------------- */
template <class T, T V> struct integral_constant {
    static constexpr T value = V;
    using value_type = T;
    using type = integral_constant;
    constexpr operator T() const noexcept {
        return V;
    }
    constexpr T operator()() const noexcept {
        return V;
    }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool B, class T = void> struct enable_if {};
template <class T> struct enable_if<true, T> {
    using type = T;
};
template <bool B, class T = void> using enable_if_t = typename enable_if<B, T>::type;

template <bool B, class T, class U> struct conditional {
    using type = T;
};
template <class T, class U> struct conditional<false, T, U> {
    using type = U;
};
template <bool B, class T, class U> using conditional_t = typename conditional<B, T, U>::type;

template <class...> struct _disjunction : false_type {};
template <class B> struct _disjunction<B> : B {};
template <class B, class... Rest>
struct _disjunction<B, Rest...> : conditional_t<bool(B::value), B, _disjunction<Rest...>> {};
template <class... B> struct disjunction : _disjunction<B...> {};
template <class... B> constexpr bool disjunction_v = disjunction<B...>::value;

template <class...> struct _conjunction : true_type {};
template <class B> struct _conjunction<B> : B {};
template <class B, class... Rest>
struct _conjunction<B, Rest...> : conditional_t<bool(B::value), _conjunction<Rest...>, B> {};
template <class... B> struct conjunction : _conjunction<B...> {};
template <class... B> constexpr bool conjunction_v = conjunction<B...>::value;

template <class B> struct negation : bool_constant<!bool(B::value)> {};
template <class B> constexpr bool negation_v = negation<B>::value;

template <class T> struct type_identity {
    using type = T;
};
template <class T> using type_identity_t = typename type_identity<T>::type;

template <class T, T... I> struct integer_sequence {
    using value_type = T;
    static constexpr size_t size() noexcept {
        return sizeof...(I);
    }
};
template <size_t... I> using index_sequence = integer_sequence<size_t, I...>;
template <class T, T N> using make_integer_sequence = __make_integer_seq<integer_sequence, T, N>;
template <size_t N> using make_index_sequence = make_integer_sequence<size_t, N>;
template <class... T> using index_sequence_for = make_index_sequence<sizeof...(T)>;

/* ---- transformations ------------------------------------------------------------------------ */
template <class T> struct remove_const {
    using type = T;
};
template <class T> struct remove_const<const T> {
    using type = T;
};
template <class T> struct remove_volatile {
    using type = T;
};
template <class T> struct remove_volatile<volatile T> {
    using type = T;
};
template <class T> using remove_const_t = typename remove_const<T>::type;
template <class T> using remove_volatile_t = typename remove_volatile<T>::type;
template <class T> struct remove_cv {
    using type = remove_const_t<remove_volatile_t<T>>;
};
template <class T> using remove_cv_t = typename remove_cv<T>::type;

template <class T> struct remove_addrspace {
    using type = T;
};
template <class T> struct remove_addrspace<__ingot_device T> {
    using type = T;
};
template <class T> struct remove_addrspace<__ingot_threadgroup T> {
    using type = T;
};
template <class T> struct remove_addrspace<__attribute__((opencl_global_host)) T> {
    using type = T;
};
template <class T> using remove_addrspace_t = typename remove_addrspace<T>::type;

template <class T> struct remove_reference {
    using type = T;
};
template <class T> struct remove_reference<T &> {
    using type = T;
};
template <class T> struct remove_reference<T &&> {
    using type = T;
};
template <class T> using remove_reference_t = typename remove_reference<T>::type;

template <class T> struct remove_pointer {
    using type = T;
};
template <class T> struct remove_pointer<T *> {
    using type = T;
};
template <class T> struct remove_pointer<T *const> {
    using type = T;
};
template <class T> using remove_pointer_t = typename remove_pointer<T>::type;

template <class T> struct remove_extent {
    using type = T;
};
template <class T> struct remove_extent<T[]> {
    using type = T;
};
template <class T, size_t N> struct remove_extent<T[N]> {
    using type = T;
};
template <class T> using remove_extent_t = typename remove_extent<T>::type;

/* Bare: no const, volatile or address space. */
template <class T> using __ingot_bare_t = remove_cv_t<remove_addrspace_t<remove_cv_t<T>>>;

template <class T> struct remove_cvref {
    using type = __ingot_bare_t<remove_reference_t<T>>;
};
template <class T> using remove_cvref_t = typename remove_cvref<T>::type;
template <class T> struct decay {
    using type = remove_cvref_t<__decay(T)>;
};
template <class T> using decay_t = typename decay<T>::type;
template <class T> struct add_const {
    using type = const T;
};
template <class T> using add_const_t = typename add_const<T>::type;
template <class T> struct add_cv {
    using type = const volatile T;
};
template <class T> using add_cv_t = typename add_cv<T>::type;
template <class T> struct add_volatile {
    using type = volatile T;
};
template <class T> using add_volatile_t = typename add_volatile<T>::type;
template <class T> struct add_pointer {
    using type = remove_reference_t<T> *;
};
template <class T> using add_pointer_t = typename add_pointer<T>::type;
template <class T> struct add_lvalue_reference {
    using type = T &;
};
template <class T> using add_lvalue_reference_t = typename add_lvalue_reference<T>::type;
template <class T> struct add_rvalue_reference {
    using type = T &&;
};
template <class T> using add_rvalue_reference_t = typename add_rvalue_reference<T>::type;
template <class T> struct make_unsigned {
    using type = __make_unsigned(T);
};
template <class T> using make_unsigned_t = typename make_unsigned<T>::type;
template <class T> struct make_signed {
    using type = __make_signed(T);
};
template <class T> using make_signed_t = typename make_signed<T>::type;
template <class T> struct underlying_type {
    using type = __underlying_type(T);
};
template <class T> using underlying_type_t = typename underlying_type<T>::type;

template <class T> T &&declval() noexcept;

template <class... T> struct common_type {};
template <class T> struct common_type<T> {
    using type = decay_t<T>;
};
template <class T, class U> struct common_type<T, U> {
    using type = decay_t<decltype(false ? declval<T>() : declval<U>())>;
};
template <class T, class U, class... Rest>
struct common_type<T, U, Rest...> : common_type<typename common_type<T, U>::type, Rest...> {};
template <class... T> using common_type_t = typename common_type<T...>::type;

template <class F, class... A> struct invoke_result {
    using type = decltype(declval<F>()(declval<A>()...));
};
template <class F, class... A> using invoke_result_t = typename invoke_result<F, A...>::type;

template <class S, int N> using __ingot_native = S __attribute__((ext_vector_type(N)));
template <class Native> struct __ingot_vec;
template <class T, int N> using vec = __ingot_vec<T __attribute__((ext_vector_type(N)))>;

/* T, or what the vector T consists of. */
template <class T> struct __ingot_component {
    using type = T;
};
template <class T, int N> struct __ingot_component<vec<T, N>> {
    using type = T;
};
template <class T, int N> struct __ingot_component<const vec<T, N>> {
    using type = T;
};
template <class T> using __ingot_component_t = typename __ingot_component<T>::type;

/* Scalars only: what the prelude itself chooses overloads by. */
template <class T> constexpr bool __ingot_is_integer = __is_integral(T);
template <class T> constexpr bool __ingot_is_real = __is_floating_point(T);
template <class T> constexpr bool __ingot_is_number = __is_integral(T) || __is_floating_point(T);

/* ---- questions ------------------------------------------------------------------------------ */
#define __INGOT_TRAIT1(name, ...)                                                                  \
    template <class T> struct name : bool_constant<(__VA_ARGS__)> {};                              \
    template <class T> constexpr bool name##_v = (__VA_ARGS__);
#define __INGOT_TRAIT2(name, ...)                                                                  \
    template <class T, class U> struct name : bool_constant<(__VA_ARGS__)> {};                     \
    template <class T, class U> constexpr bool name##_v = (__VA_ARGS__);
__INGOT_TRAIT2(is_same, __is_same(T, U))
__INGOT_TRAIT2(is_base_of, __is_base_of(T, U))
__INGOT_TRAIT2(is_convertible, __is_convertible(T, U))
__INGOT_TRAIT2(is_assignable, __is_assignable(T, U))
__INGOT_TRAIT1(is_void, __is_void(T))
/* Asked of a vector, these answer for its components, as Metal's do. */
__INGOT_TRAIT1(is_integral, __is_integral(__ingot_component_t<T>))
__INGOT_TRAIT1(is_floating_point, __is_floating_point(__ingot_component_t<T>))
__INGOT_TRAIT1(is_arithmetic, __ingot_is_number<__ingot_component_t<T>>)
__INGOT_TRAIT1(is_scalar,
               __is_integral(T) || __is_floating_point(T) || __is_enum(T) || __is_pointer(T))
__INGOT_TRAIT1(is_fundamental, __is_integral(T) || __is_floating_point(T) || __is_void(T))
__INGOT_TRAIT1(is_signed,
               __is_floating_point(__ingot_component_t<T>) || __is_signed(__ingot_component_t<T>))
__INGOT_TRAIT1(is_unsigned, __is_unsigned(__ingot_component_t<T>))
__INGOT_TRAIT1(is_pointer, __is_pointer(T))
__INGOT_TRAIT1(is_reference, __is_reference(T))
__INGOT_TRAIT1(is_lvalue_reference, __is_lvalue_reference(T))
__INGOT_TRAIT1(is_rvalue_reference, __is_rvalue_reference(T))
__INGOT_TRAIT1(is_array, __is_array(T))
__INGOT_TRAIT1(is_const, __is_const(T))
__INGOT_TRAIT1(is_volatile, __is_volatile(T))
__INGOT_TRAIT1(is_enum, __is_enum(T))
__INGOT_TRAIT1(is_union, __is_union(T))
__INGOT_TRAIT1(is_class, __is_class(T))
__INGOT_TRAIT1(is_function, __is_function(T))
__INGOT_TRAIT1(is_object, __is_object(T))
__INGOT_TRAIT1(is_compound, __is_compound(T))
__INGOT_TRAIT1(is_trivial, __is_trivial(T))
__INGOT_TRAIT1(is_trivially_copyable, __is_trivially_copyable(T))
__INGOT_TRAIT1(is_standard_layout, __is_standard_layout(T))
__INGOT_TRAIT1(is_pod, __is_pod(T))
__INGOT_TRAIT1(is_aggregate, __is_aggregate(T))
__INGOT_TRAIT1(is_abstract, __is_abstract(T))
__INGOT_TRAIT1(is_default_constructible, __is_constructible(T))
#undef __INGOT_TRAIT1
#undef __INGOT_TRAIT2
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A> constexpr bool is_constructible_v = __is_constructible(T, A...);
template <class T> constexpr size_t extent_v = 0;
template <class T, size_t N> constexpr size_t extent_v<T[N]> = N;
template <class T> constexpr size_t rank_v = 0;
template <class T, size_t N> constexpr size_t rank_v<T[N]> = 1 + rank_v<T>;

/* The return type R of a function template that exists for some T only. */
template <class T, class R> using __ingot_if_integer = enable_if_t<__is_integral(T), R>;
template <class T, class R> using __ingot_if_float = enable_if_t<__is_floating_point(T), R>;
template <class T, class R>
using __ingot_if_arithmetic = enable_if_t<__is_integral(T) || __is_floating_point(T), R>;

/* The unsigned integer of as many bytes. */
template <size_t BYTES> struct __ingot_bits {};
template <> struct __ingot_bits<1> {
    using type = uchar;
};
template <> struct __ingot_bits<2> {
    using type = ushort;
};
template <> struct __ingot_bits<4> {
    using type = uint;
};
template <> struct __ingot_bits<8> {
    using type = ulong;
};
template <class T> using __ingot_bits_t = typename __ingot_bits<sizeof(T)>::type;
} // namespace metal
