#include <metal_stdlib>
using namespace metal;
typedef device float *floats;
constant float table[2] = {1, 2};
constant float *constant first = table;
device float *global; // REFUSED: wants a variable outside of functions to be in the constant address space
kernel void k(device float *x [[buffer(0)]]) {
    floats y = x;
    y[0] = first[1];
}
