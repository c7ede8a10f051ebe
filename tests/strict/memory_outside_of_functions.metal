// Device and threadgroup memory is not declared outside of functions.
#include <metal_stdlib>
using namespace metal;
device float kept; // REFUSED: wants a variable outside of functions to be in the constant address space
threadgroup float shared[4]; // REFUSED: wants a variable outside of functions to be in the constant address space
constant float scale[2] = {1, 2};
device float *first(device float *x) { return x; }
typedef threadgroup float *shared_pointer;
kernel void k(device float *x [[buffer(0)]], shared_pointer s [[threadgroup(0)]]) {
    threadgroup float inside[4];
    inside[0] = s[0] = shared[0] = kept;
    *first(x) = inside[0] * scale[1];
}
