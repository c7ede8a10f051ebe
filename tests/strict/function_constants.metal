// Function constants are in the constant address space, and have no values of their own.
#include <metal_stdlib>
using namespace metal;
bool plain [[function_constant(0)]]; // REFUSED: wants a function constant to be in the constant address space
constant int valued [[function_constant(1)]] = 3; // REFUSED: no initial value of a function constant
constant int right [[function_constant(2)]];
constant int chosen = is_function_constant_defined(right) ? right : 3;
constant bool has_y [[function_constant(3)]];
kernel void k(device float *x [[buffer(0)]], device float *y [[buffer(1), function_constant(has_y)]]) {
    x[0] = chosen + (plain ? 1 : 0) + valued;
}
