// A word of C++ that Metal leaves out.
#include <metal_stdlib>
using namespace metal;
struct base {
    virtual float f() { return 1; } // ERROR: 'virtual' is not part of the Metal language
};
kernel void k(device float *x [[buffer(0)]]) { x[0] = 1; }
