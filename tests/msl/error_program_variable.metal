// Metal has no variables outside of functions but constants.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_program_variable.metal:16:5: error: 'counter': a variable outside of functions, or a static one, must be constant
//
// RUN: kernel=local threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_program_variable.metal:21:5: error: 'calls': a variable outside of functions, or a static one
#include <metal_stdlib>
using namespace metal;

int counter = 3;
kernel void k(device int *x [[buffer(0)]]) {
    counter++;
    x[0] = counter;
}
kernel void local(device int *x [[buffer(0)]]) {
    static int calls = 0;
    calls += 1;
    x[0] = calls;
}
