// A loop that ends when all lanes agree: a wave-front.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// EXPECT 0: i32[32] = 31
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    int rounds = 0;
    while (!simd_all(rounds >= int(i)))
        rounds++;
    x[i] = rounds;
}
