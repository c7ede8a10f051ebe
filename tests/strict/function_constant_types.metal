// A function constant is a scalar or a vector.
#include <metal_stdlib>
using namespace metal;
struct pair {
    int a, b;
};
typedef int number;
constant number n [[function_constant(0)]];
constant float4 v [[function_constant(1)]];
constant float4x4 m [[function_constant(2)]]; // ERROR: a function constant is a scalar or a vector
constant pair p [[function_constant(3)]]; // ERROR: a function constant is a scalar or a vector
kernel void k(device float *x [[buffer(0)]]) { x[0] = n + v.x + m[0][0] + p.a; }
