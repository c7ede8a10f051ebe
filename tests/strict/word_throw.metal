// A word of C++ that Metal leaves out.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    if (x[0] > 0) throw 1; // ERROR: 'throw' is not part of the Metal language
}
