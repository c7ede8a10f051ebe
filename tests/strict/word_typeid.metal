// A word of C++ that Metal leaves out.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    x[0] = typeid(float) == typeid(int); // ERROR: 'typeid' is not part of the Metal language
}
