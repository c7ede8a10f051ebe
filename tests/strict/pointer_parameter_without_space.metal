#include <metal_stdlib>
using namespace metal;
static inline float sum(const float *p, int n) { // REFUSED: what a pointer points to
    float s = 0;
    for (int i = 0; i < n; i++) {
        s += p[i];
    }
    return s;
}
kernel void k(device float *x [[buffer(0)]]) { x[0] = sum(x, 4); }
