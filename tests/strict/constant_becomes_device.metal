// Constant memory is not a part of device memory.
// ALL PASSES
#include <metal_stdlib>
using namespace metal;
float first(device const float *p) { return *p; }
float same(device const float &r) { return r; }
template <typename P> float any(P p) { return *p; }
kernel void k(device float *x [[buffer(0)]], constant float *c [[buffer(1)]]) {
    device const float *p = c; // REFUSED: constant becomes one to device
    x[0] = p[0];
    x[1] = first(c); // REFUSED: constant becomes one to device
    x[2] = same(c[1]); // REFUSED: constant becomes one to device
    *(device float *)c = 1; // REFUSED: constant becomes one to device
    x[3] = first(x) + same(x[1]) + any(c) + any(x) + c[2];
}
