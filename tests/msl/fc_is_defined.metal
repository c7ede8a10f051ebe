// is_function_constant_defined gives a default for one that has no value.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [42]
// RUN: kernel=k threads=1 group=1
// CONST n: i32 = 7
// ARG 0: i32[1]
// EXPECT 0: i32 [7]
#include <metal_stdlib>
using namespace metal;

constant int n [[function_constant(0)]];
constant int used = is_function_constant_defined(n) ? n : 42;
kernel void k(device int *x [[buffer(0)]]) { x[0] = used; }
