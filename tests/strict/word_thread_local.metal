// A word of C++ that Metal leaves out.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]]) {
    thread_local float y; // ERROR: 'thread_local' is not part of the Metal language
    x[0] = y;
}
