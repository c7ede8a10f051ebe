// Quad functions are of 32 bits at most.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], device long *n [[buffer(1)]]) {
    x[0] = quad_sum(n[0]); // REFUSED: no SIMD-group functions of bool and of 64 bits
    x[1] = quad_broadcast(n[0], 1); // REFUSED: no SIMD-group functions of bool and of 64 bits
    x[2] = quad_sum(int(n[0])) + quad_broadcast(x[1], 1);
}
