#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    double d = x[0]; // ERROR: double
    x[0] = d;
}
