// Any lane's value by index.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32] = i * i
// EXPECT 0: i32[32] = (31 - i) * (31 - i)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) { x[i] = simd_shuffle(x[i], 31 - i); }
