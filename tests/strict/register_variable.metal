// A storage class that is left out.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    register float y = x[0]; // REFUSED: no register variables
    float z = x[0];
    x[0] = y + z;
}
