// A lane's value to all; the first active lane's value.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// EXPECT 0: i32[32] = i < 8 ? 507 : 508
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    int b = simd_broadcast(int(i), 5) * 100;
    x[i] = b + 7;
    if (i >= 8)
        x[i] = b + simd_broadcast_first(int(i));
}
