#include <metal_stdlib>
using namespace metal;
kernel void k(device int *x [[buffer(0)]]) {
    threadgroup int n = 3; // REFUSED: takes no initial value of a variable in threadgroup memory
    x[0] = n;
}
