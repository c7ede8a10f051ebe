// A different source in each lane, read under a divergent branch among the lanes that are active.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32] = -1
// EXPECT 0: i32[32] = i % 2 ? -1 : ((i + 2) % 32) * 10
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    if (i % 2 == 0)
        x[i] = simd_shuffle(int(i) * 10, (i + 2) % 32);
}
