// A word of C++ that Metal leaves out.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    thread float *p = new float; // ERROR: 'new' is not part of the Metal language
    x[0] = *p;
}
