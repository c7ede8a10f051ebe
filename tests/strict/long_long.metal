#include <metal_stdlib>
using namespace metal;
kernel void k(device ulong *x [[buffer(0)]]) {
    unsigned long long n = x[0]; // REFUSED: has no long long
    x[0] = n + 1;
}
