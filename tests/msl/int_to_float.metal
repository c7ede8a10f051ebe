// Conversions of integers round to nearest, ties to even; from 64 bits too.
// RUN: kernel=k threads=4 group=4
// ARG 0: i64 [16777217 16777219 -9007199254740993 4611686018427387904]
// ARG 1: f32[4]
// EXPECT 1: f32 [16777216 16777220 -9007199254740992 4611686018427387904]
#include <metal_stdlib>
using namespace metal;

kernel void k(device const long *x [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = float(x[i]);
}
