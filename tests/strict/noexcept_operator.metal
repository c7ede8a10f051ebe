// The operator is left out; the specifier is not.
#include <metal_stdlib>
using namespace metal;
float twice(float y) noexcept { return 2 * y; }
kernel void k(device float *x [[buffer(0)]]) {
    x[0] = noexcept(twice(x[0])) ? 1 : 0; // REFUSED: no noexcept operator
    x[1] = twice(x[1]);
}
