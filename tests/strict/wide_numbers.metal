// Neither integers of 128 bits nor long double.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], device long *n [[buffer(1)]]) {
    __int128 y = n[0]; // REFUSED: no integers of 128 bits
    ulong z = mulhi(ulong(n[0]), 10ul), w = 0x1eL;
    x[0] = float(y) + z + w;
    x[1] = x[1] * 2.5L; // REFUSED: no long double
    x[2] = x[2] * 2.5f + 2l;
}
