// Recursion on floating-point numbers is limited in depth; deeper is an error of the launch.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32 [100]
// EXPECT-ERROR: levels deep
#include <metal_stdlib>
using namespace metal;

float fib(float n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
kernel void k(device float *x [[buffer(0)]]) { x[0] = fib(x[0]); }
