// A product with a store right behind it, and whose elements are changed in a loop afterwards.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = i % 7 - 3
// ARG 1: f32[64] = i % 5 - 2
// ARG 2: f32[64]
// ARG 3: f32[64]
// ARG 4: u32 = 2
// EXPECT 2: f32[64] = sum(j, 0, 8, ((8 * idiv(i, 8) + j) % 7 - 3) * ((8 * j + i % 8) % 5 - 2))
// EXPECT 3: f32[64] = (i % 2 ? 0 : 2) + sum(j, 0, 8, ((8 * idiv(i, 8) + j) % 7 - 3) * ((8 * j + i % 8) % 5 - 2))
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *a, device float *b, device float *product, device float *raised,
              constant uint &steps) {
    simdgroup_float8x8 left, right, sum;
    simdgroup_load(left, a, 8);
    simdgroup_load(right, b, 8);
    simdgroup_multiply(sum, left, right);
    simdgroup_store(left, a, 8);
    simdgroup_store(sum, product, 8);
    for (uint step = 0; step < steps; step++) {
        sum.thread_elements()[0] += 1;
        simdgroup_store(sum, raised, 8);
    }
}
