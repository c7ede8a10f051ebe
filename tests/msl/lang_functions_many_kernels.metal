// Several kernels in a file share functions and constants.
// RUN: kernel=a threads=2 group=2
// ARG 0: i32[2]
// EXPECT 0: i32 [3 4]
// RUN: kernel=b threads=2 group=2
// ARG 0: i32[2]
// EXPECT 0: i32 [30 31]
// RUN: kernel=c threads=2 group=2
// ARG 0: i32[2]
// EXPECT 0: i32 [300 301]
#include <metal_stdlib>
using namespace metal;

constant int base = 3;
inline int scaled(int by) { return base * by; }
kernel void a(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = scaled(1) + i; }
kernel void b(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = scaled(10) + i; }
kernel void c(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = scaled(100) + i; }
