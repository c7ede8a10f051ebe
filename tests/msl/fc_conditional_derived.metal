// The condition may be a derived constant.
// RUN: kernel=k threads=2 group=2
// CONST mode: i32 = 3
// ARG 0: i32 [1 2]
// ARG 2: i32 = 100
// EXPECT 0: i32 [101 102]
// RUN: kernel=k threads=2 group=2
// CONST mode: i32 = 1
// ARG 0: i32 [1 2]
// EXPECT 0: i32 [1 2]
#include <metal_stdlib>
using namespace metal;

constant int mode [[function_constant(0)]];
constant bool adds = mode == 3;
kernel void k(device int *x [[buffer(0)]], constant int &by [[buffer(2), function_constant(adds)]],
              uint i [[thread_position_in_grid]]) {
    if (adds)
        x[i] += by;
}
