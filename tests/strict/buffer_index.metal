// Indices of buffers are 0 to 30, and each is one argument's.
#include <metal_stdlib>
using namespace metal;
// ALL PASSES
kernel void k(device float *x [[buffer(0)]], device float *y [[buffer(31)]], // REFUSED: takes 0 to 30
              device float *z [[buffer(30)]]) {
    x[0] = y[0] + z[0];
}
