// A word of C++ that Metal leaves out.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    float y = 1;
    thread float *p = &y;
    delete p; // ERROR: 'delete' is not part of the Metal language
}
