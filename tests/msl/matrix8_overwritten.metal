// A tile that memory no longer holds when it is multiplied.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = i % 7 - 3
// ARG 1: f32[64] = i % 5 - 2
// ARG 2: f32[128]
// EXPECT 2: f32[128] = i < 64 ? sum(j, 0, 8, ((8 * idiv(i, 8) + j) % 7 - 3) * ((8 * j + i % 8) % 5 - 2)) : sum(j, 0, 8, ((8 * idiv(i - 64, 8) + j) % 7 - 3) * 2)
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *a [[buffer(0)]], device float *b [[buffer(1)]],
              device float *c [[buffer(2)]], uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 left, right, twos, sum;
    simdgroup_load(left, a, 8);
    simdgroup_load(right, b, 8);
    for (uint i = lane; i < 64; i += 32) {
        a[i] = 100.0f; // FINDS: race
        b[i] = 2.0f; // FINDS: race
    }
    simdgroup_load(twos, b, 8); // FINDS: race
    simdgroup_multiply(sum, left, right);
    simdgroup_store(sum, c, 8);
    simdgroup_multiply(sum, left, twos);
    simdgroup_store(sum, c + 64, 8);
}
