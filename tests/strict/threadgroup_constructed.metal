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
struct constructed {
    float a;
    constructed() { a = 2; }
};
struct destructed {
    float a;
    ~destructed() { a = 0; }
};
kernel void k(device float *x [[buffer(0)]]) {
    threadgroup plain s, some[4];
    threadgroup float4x4 matrix;
    threadgroup atomic_uint counts[4];
    threadgroup valued v; // ERROR: a variable in threadgroup memory has no constructor
    threadgroup constructed c[4]; // ERROR: a variable in threadgroup memory has no constructor
    threadgroup destructed d; // ERROR: a variable in threadgroup memory has no constructor
    s.a = some[0].a = matrix[0][0] = 1;
    atomic_store_explicit(&counts[0], 1u, memory_order_relaxed);
    x[0] = s.a + v.a + c[0].a + d.a;
}
