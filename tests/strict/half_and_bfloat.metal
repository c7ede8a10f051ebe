#include <metal_stdlib>
using namespace metal;
kernel void k(device half *x [[buffer(0)]], device bfloat *y [[buffer(1)]]) {
    x[0] = x[0] + y[0]; // ERROR: one operand is half and the other bfloat
}
