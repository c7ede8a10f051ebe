// Metal has no recursion.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_recursion.metal:9:37: error: 'fib': recursive call: Metal does not allow recursion
#include <metal_stdlib>
using namespace metal;

int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
kernel void k(device int *x [[buffer(0)]]) { x[0] = fib(x[0]); }
