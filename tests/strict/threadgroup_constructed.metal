// Nothing runs when a threadgroup variable comes to be.
#include <metal_stdlib>
using namespace metal;
struct plain {
    float a;
    int b;
    plain() = default;
    plain(float c) : a(c), b(0) {}
};
struct valued {
    float a = 1;
};
struct zeros {
    float a;
    constexpr zeros() : a(0) {}
};
template <typename T> struct pair {
    T a, b;
    constexpr pair() thread : a(0), b(0) {}
    constexpr pair() threadgroup : a(0), b(0) {}
    constexpr pair(T x, T y) : a(x), b(y) {}
};
kernel void k(device float *x [[buffer(0)]]) {
    threadgroup plain s, some[4];
    threadgroup float4x4 matrix;
    threadgroup atomic_uint counts[4];
    threadgroup pair<float> pairs[4];
    threadgroup valued v; // REFUSED: takes no threadgroup variable of a struct whose members have initial values
    threadgroup zeros z[2]; // REFUSED: takes no threadgroup variable of a struct whose members have initial values
    threadgroup valued *p = &v;
    s.a = some[0].a = matrix[0][0] = 1;
    atomic_store_explicit(&counts[0], 1u, memory_order_relaxed);
    pairs[0] = pair<float>(1, 2);
    x[0] = s.a + p->a + z[1].a + pairs[0].b;
}
