// What the library has for one type alone, called with others.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], device int *n [[buffer(1)]], device atomic<long> *a [[buffer(2)]]) {
    x[0] = select(1.0f, 2, x[1] > 0); // REFUSED: ambiguous
    x[2] = select(1.0f, 2.0f, x[3] > 0) + pow(x[4], 2) + step(0, x[5]);
    x[6] = isnan(n[0]); // REFUSED: ambiguous
    x[7] = isnan(x[8]) + isinf(half(1));
    x[9] = as_type<ulong>(x); // REFUSED: as_type of scalars and vectors only
    atomic_store_explicit(a, 1, memory_order_relaxed); // REFUSED: no atomic functions of long
    __float128 wide = x[10]; // REFUSED: no long double
    x[11] = float(wide);
}
