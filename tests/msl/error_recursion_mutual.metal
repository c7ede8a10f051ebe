// Functions that call each other are recursive too, also where each call is the last thing done.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_recursion_mutual.metal:11:38: error: 'even': recursive call
#include <metal_stdlib>
using namespace metal;

int odd(int n);
int even(int n) { return n == 0 ? 1 : odd(n - 1); }
int odd(int n) { return n == 0 ? 0 : even(n - 1); }
kernel void k(device int *x [[buffer(0)]]) { x[0] = even(x[0]); }
