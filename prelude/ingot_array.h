/*
 * metal::array, array_ref, initializer_list and uniform.
 */
#pragma once
#include "ingot_builtins.h"
#include "ingot_traits.h"

/* What `x = {1, 2}` is for an operator or a constructor that takes one. The name and the two
 * members are clang's. */
namespace std {
template <class T> class initializer_list {
    const T *__first;
    size_t __length;

  public:
    using value_type = T;
    using size_type = size_t;
    __ingot_inline constexpr initializer_list() : __first(nullptr), __length(0) {}
    __ingot_inline constexpr size_t size() const {
        return __length;
    }
    /* Not const: generated sources keep it as a pointer that is not. */
    __ingot_inline constexpr T *begin() const {
        return const_cast<T *>(__first);
    }
    __ingot_inline constexpr T *end() const {
        return const_cast<T *>(__first) + __length;
    }
};
} // namespace std
namespace metal {
using std::initializer_list;
}

namespace metal {
template <class T, size_t N> struct array {
    T __elements[N];
    using value_type = T;
    __ingot_inline static constexpr size_t size() {
        return N;
    }
    __ingot_inline static constexpr size_t max_size() {
        return N;
    }
    __ingot_inline static constexpr bool empty() {
        return N == 0;
    }
#if __cplusplus > 202002L
#define __INGOT_ARRAY_POINTERS(SPACE)                                                              \
    __ingot_inline constexpr SPACE T *data(this SPACE array &self) {                               \
        return self.__elements;                                                                    \
    }                                                                                              \
    __ingot_inline constexpr SPACE T *begin(this SPACE array &self) {                              \
        return self.__elements;                                                                    \
    }                                                                                              \
    __ingot_inline constexpr SPACE T *end(this SPACE array &self) {                                \
        return self.__elements + N;                                                                \
    }                                                                                              \
    __ingot_inline constexpr SPACE T &operator[](this SPACE array &self, size_t i) {               \
        return self.__elements[i];                                                                 \
    }                                                                                              \
    __ingot_inline constexpr SPACE T &at(this SPACE array &self, size_t i) {                       \
        return self.__elements[i];                                                                 \
    }                                                                                              \
    __ingot_inline constexpr SPACE T &front(this SPACE array &self) {                              \
        return self.__elements[0];                                                                 \
    }                                                                                              \
    __ingot_inline constexpr SPACE T &back(this SPACE array &self) {                               \
        return self.__elements[N - 1];                                                             \
    }
    /* The front end asks for C++23 where a source takes pointers into arrays, or names arrays in
     * an address space: pointers and references keep the array's space then. */
    __INGOT_ARRAY_POINTERS()
    __INGOT_ARRAY_POINTERS(const)
    __INGOT_ARRAY_POINTERS(__ingot_device)
    __INGOT_ARRAY_POINTERS(const __ingot_device)
    __INGOT_ARRAY_POINTERS(__ingot_threadgroup)
    __INGOT_ARRAY_POINTERS(const __ingot_threadgroup)
    __INGOT_ARRAY_POINTERS(__ingot_constant)
#undef __INGOT_ARRAY_POINTERS
#else
    __ingot_inline constexpr T &operator[](size_t i) {
        return __elements[i];
    }
    __ingot_inline constexpr const T &operator[](size_t i) const {
        return __elements[i];
    }
    __ingot_inline constexpr T &at(size_t i) {
        return __elements[i];
    }
    __ingot_inline constexpr const T &at(size_t i) const {
        return __elements[i];
    }
    __ingot_inline constexpr T &front() {
        return __elements[0];
    }
    __ingot_inline constexpr T &back() {
        return __elements[N - 1];
    }
    __ingot_inline constexpr const T &front() const {
        return __elements[0];
    }
    __ingot_inline constexpr const T &back() const {
        return __elements[N - 1];
    }
    __ingot_inline constexpr T *data() {
        return __elements;
    }
    __ingot_inline constexpr const T *data() const {
        return __elements;
    }
    __ingot_inline constexpr T *begin() {
        return __elements;
    }
    __ingot_inline constexpr const T *begin() const {
        return __elements;
    }
    __ingot_inline constexpr T *end() {
        return __elements + N;
    }
    __ingot_inline constexpr const T *end() const {
        return __elements + N;
    }
#endif
    __ingot_inline constexpr void fill(const T &x) {
        for (size_t i = 0; i < N; i++) {
            __elements[i] = x;
        }
    }
};

/* A pointer and a length. */
template <class T> struct array_ref {
    const T *__first;
    size_t __length;
    __ingot_inline constexpr array_ref() : __first(nullptr), __length(0) {}
    __ingot_inline constexpr array_ref(const T *first, size_t length)
        : __first(first), __length(length) {}
    template <size_t N>
    __ingot_inline constexpr array_ref(const array<T, N> &a) : __first(a.data()), __length(N) {}
    template <size_t N>
    __ingot_inline constexpr array_ref(const T (&a)[N]) : __first(a), __length(N) {}
    __ingot_inline constexpr size_t size() const {
        return __length;
    }
    __ingot_inline constexpr bool empty() const {
        return __length == 0;
    }
    __ingot_inline constexpr const T *data() const {
        return __first;
    }
    __ingot_inline constexpr const T &operator[](size_t i) const {
        return __first[i];
    }
    __ingot_inline constexpr const T *begin() const {
        return __first;
    }
    __ingot_inline constexpr const T *end() const {
        return __first + __length;
    }
};
template <class T>
__ingot_inline constexpr array_ref<T> make_array_ref(const T *first, size_t length) {
    return array_ref<T>(first, length);
}

/* A promise that the value is the same in all threads; nothing here depends on it. */
template <class T> struct uniform {
    T __value;
    uniform() = default;
    __ingot_inline constexpr uniform(T x) : __value(x) {}
    template <class U, class = enable_if_t<__is_convertible(U, T)>>
    __ingot_inline constexpr uniform(uniform<U> x) : __value(x.__value) {}
    __ingot_inline constexpr operator T() const {
        return __value;
    }
#define __INGOT_UNIFORM_COMPOUND(op)                                                               \
    __ingot_inline constexpr uniform &operator op##=(T x) {                                        \
        __value = __value op x;                                                                    \
        return *this;                                                                              \
    }
    __INGOT_UNIFORM_COMPOUND(+)
    __INGOT_UNIFORM_COMPOUND(-)
    __INGOT_UNIFORM_COMPOUND(*)
    __INGOT_UNIFORM_COMPOUND(/)
    __INGOT_UNIFORM_COMPOUND(&)
    __INGOT_UNIFORM_COMPOUND(|)
    __INGOT_UNIFORM_COMPOUND(^)
#undef __INGOT_UNIFORM_COMPOUND
/* Of two uniform values; with any other, the conversion above gives a plain one. */
#define __INGOT_UNIFORM_OPERATOR(op)                                                               \
    template <class A, class U>                                                                    \
    friend __ingot_inline constexpr auto operator op(A a, uniform<U> b)                            \
        ->enable_if_t<__is_same(A, uniform), uniform<decltype(a.__value op b.__value)>> {          \
        return {a.__value op b.__value};                                                           \
    }
    __INGOT_UNIFORM_OPERATOR(+)
    __INGOT_UNIFORM_OPERATOR(-)
    __INGOT_UNIFORM_OPERATOR(*)
    __INGOT_UNIFORM_OPERATOR(/)
    __INGOT_UNIFORM_OPERATOR(%)
#undef __INGOT_UNIFORM_OPERATOR
};
template <class T> __ingot_inline constexpr uniform<T> make_uniform(T x) {
    return uniform<T>(x);
}
} // namespace metal
