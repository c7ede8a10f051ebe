// A word of C++ that Metal leaves out.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    struct a {} y;
    x[0] = dynamic_cast<thread a *>(&y) != nullptr; // ERROR: 'dynamic_cast' is not part of the Metal language
}
