#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    x[0] = ((uint *)x)[1]; // REFUSED: what a pointer points to
}
