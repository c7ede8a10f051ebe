#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    constant float two = 2.0f; // ERROR: automatic variable qualified with an address space
    x[0] *= two;
}
