// Products as the left, the right and the added side of other products.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = (idiv(i, 8) == i % 8) ? 3 : 0
// ARG 1: f32[64] = i % 5 - 2
// ARG 2: f32[192]
// EXPECT 2: f32[192] = i < 64 ? 9 * (i % 5 - 2) : i < 128 ? 9 * ((i - 64) % 5 - 2) : 12 * ((i - 128) % 5 - 2)
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *a [[buffer(0)]], device const float *b [[buffer(1)]],
              device float *c [[buffer(2)]]) {
    simdgroup_float8x8 three, m, nine, scaled, left, right, added;
    simdgroup_load(three, a, 8);
    simdgroup_load(m, b, 8);
    simdgroup_multiply(nine, three, three);
    simdgroup_multiply(scaled, three, m);
    simdgroup_multiply(left, nine, m);
    simdgroup_multiply(right, three, scaled);
    simdgroup_multiply_accumulate(added, nine, m, scaled);
    simdgroup_store(left, c, 8);
    simdgroup_store(right, c + 64, 8);
    simdgroup_store(added, c + 128, 8);
}
