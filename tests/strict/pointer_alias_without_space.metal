// A pointer has an address space where its type gets a name, too.
#include <metal_stdlib>
using namespace metal;
using wrong = float *; // REFUSED: address space of what a pointer points to
typedef float *old; // REFUSED: address space of what a pointer points to
using right = device float *;
typedef thread const float *also_right;
template <class T> float of(T p) { return *p; }
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    right p = x;
    float a = 1, b = 2 < i * 3 ? 1 : 2;
    also_right q = &a;
    x[0] = of<thread float *>(&a) + p[1] + *q + b;
    x[1] = of<float *>(&a); // REFUSED: address space of what a pointer points to
}
