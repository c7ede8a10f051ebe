// Told where the template calls, once for all its instances.
#include <metal_stdlib>
using namespace metal;
template <typename T> T positive(T x) {
    return max(x, 0.0f); // REFUSED: ambiguous
}
kernel void k(device half *x [[buffer(0)]], device float *y [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
    x[i] = positive(x[i]);
    y[i] = positive(y[i]);
}
