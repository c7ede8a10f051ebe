// Constructors for each address space, as complex numbers have them.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[6]
// EXPECT 0: f32 [1 0 2 5 -5 10]
#include <metal_stdlib>
using namespace metal;

template <typename T> struct pair {
    T real;
    T imag;
    constexpr pair(T real, T imag) thread : real(real), imag(imag) {}
    constexpr pair() thread : real(0), imag(0) {}
    constexpr pair() threadgroup : real(0), imag(0) {}
    template <typename U, typename = typename enable_if<is_convertible_v<U, T>>::type>
    constexpr pair(U x) thread : real(static_cast<T>(x)), imag(static_cast<T>(0)) {}
    template <typename U, typename = typename enable_if<is_convertible_v<U, T>>::type>
    constexpr pair(U x) threadgroup : real(static_cast<T>(x)), imag(static_cast<T>(0)) {}
    template <typename U, typename = typename enable_if<is_convertible_v<U, T>>::type>
    constexpr pair(U x) device : real(static_cast<T>(x)), imag(static_cast<T>(0)) {}
    template <typename U, typename = typename enable_if<is_convertible_v<U, T>>::type>
    constexpr pair(U x) constant : real(static_cast<T>(x)), imag(static_cast<T>(0)) {}
    constexpr pair(vec<T, 2> v) constant : real(v.x), imag(v.y) {}
    constexpr T first() constant { return real; }
    constexpr T first() const thread { return real; }
};

struct single {
    float x;
    constexpr single(float y) constant;
};
constexpr single::single(float y) constant : x(y) {}

template <typename T> constexpr pair<T> operator*(pair<T> a, pair<T> b) {
    return {a.real * b.real - a.imag * b.imag, a.real * b.imag + a.imag * b.real};
}
static_assert((pair<half>{1.0h, 2.0h} * pair<half>{3.0h, 4.0h}).real == -5.0h);
static_assert((pair<bfloat>{bfloat(1.0f), bfloat(2.0f)} * pair<bfloat>{bfloat(3.0f), bfloat(4.0f)}).real == bfloat(-5.0f));

constant pair<float> two(2.0f);
constant pair<float> both(float2(4, 5));
constant single five(-5.0f);

kernel void k(device float *x [[buffer(0)]]) {
    pair<float> a = 1;
    x[0] = a.real;
    x[1] = a.imag;
    x[2] = two.first();
    x[3] = both.imag;
    x[4] = five.x;
    x[5] = (pair<float>(1, 2) * pair<float>(3, 4)).imag;
}
