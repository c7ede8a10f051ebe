// Lengths of arrays are constants; function constants are none.
#include <metal_stdlib>
using namespace metal;
constant int size [[function_constant(0)]];
constant int fixed = 4;
kernel void k(device float *x [[buffer(0)]]) {
    float y[size]; // REFUSED: no arrays of variable length
    float z[fixed];
    z[0] = y[0] = x[0];
    x[1] = z[0] + y[0];
}
