// Which function is called is only known when the kernel runs.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_function_pointer.metal:13:5: error: a function is called through a pointer that is only known when the kernel runs, which is not supported
#include <metal_stdlib>
using namespace metal;

float twice(float x) { return 2 * x; }
float thrice(float x) { return 3 * x; }
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float (*f)(float) = x[i] > 0 ? twice : thrice;
    x[i] = f(x[i]);
}
