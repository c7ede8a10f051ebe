#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], float by) { // ERROR: a kernel parameter must be
    x[0] *= by;
}
