// A word of C++ that Metal leaves out.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    try { x[0] = 1; } // ERROR: 'try' is not part of the Metal language
    catch (...) {}
}
