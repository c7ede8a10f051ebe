// Lanes that returned early are not active.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32] = -7
// EXPECT 0: i32[32] = i % 2 ? -7 : 240
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    if (i % 2)
        return;
    x[i] = simd_sum(int(i));
}
