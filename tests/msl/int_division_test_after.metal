// A division is no promise that its divisor is not 0: the test for that behind it stays.
// RUN: kernel=k threads=6 group=6
// ARG 0: i32[24]
// ARG 1: i32 [0 1 0 -1 5 -5]
// EXPECT 0: i32 [-7 100 -7 -100 20 -20 55 0 55 0 0 0 1 1 1 1 1 1 -9 100 -9 -100 20 -20]
//
// RUN: kernel=conversions threads=4 group=4
// ARG 0: i32[8]
// ARG 1: f32 [1e20 -1e20 inf 2]
// EXPECT 0: i32 [1 1 1 1 0 0 0 2]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], device const int *d [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
    int by = d[i], quotient = 100 / by; // FINDS: arithmetic
    if (by == 0) {
        quotient = -7;
    }
    x[i] = quotient;
    int rest = 100 % by; // FINDS: arithmetic
    x[6 + i] = by == 0 ? 55 : rest;
    int never = by / 0; // FINDS: arithmetic
    x[12 + i] = never == never;
    int2 both = int2(100, 7) / int2(by, 7); // FINDS: arithmetic
    x[18 + i] = by == 0 ? -9 : both.x;
}

// What an int cannot hold is some int, the same at each use.
kernel void conversions(device int *x [[buffer(0)]], device const float *f [[buffer(1)]],
                        uint i [[thread_position_in_grid]]) {
    int a = int(f[i]), b = int(1e20f); // FINDS: arithmetic
    x[i] = a == a && b == b && (a < 0 || a >= 0);
    x[4 + i] = abs(f[i]) < 100.0f ? a : 0;
}
