// Two arguments with one index, here by way of a template and a constant.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_buffer_twice.metal:11:70: error: y of kernel "k" has [[buffer(1)]], which x has already: give each its own index
#include <metal_stdlib>
using namespace metal;

constant int first = 0;
template <typename T>
kernel void twice(device T *x [[buffer(first + 1)]], const device T *y [[buffer(1)]]) { x[0] = y[0]; }
template [[host_name("k")]] kernel void twice<int>(device int *, const device int *);
