// Tiles of bfloat that lanes read, a round ahead: products are summed with k ascending, whatever else CPUs can do with
// tiles of bfloat. 2^24 + 1 is 2^24 in float; taking 2^24 away first would leave the 1.
// RUN: kernel=k threads=32 group=32
// ARG 0: bf16[192] = i >= 64 ? 0 : i % 8 == 0 ? 1 : i % 8 == 1 ? 4096 : 0
// ARG 1: bf16[64] = i < 8 ? 1 : i < 16 ? -4096 : 0
// ARG 2: f32[64] = 16777216
// DEVICE: !cuda: tensor cores add the products of eight places of k at once
// EXPECT 2: f32[64] = 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device const bfloat *a [[buffer(0)]], device const bfloat *b [[buffer(1)]],
              device float *c [[buffer(2)]], uint lane [[thread_index_in_simdgroup]]) {
    const uint row = (lane / 16) * 4 + (lane / 4) % 2 * 2 + (lane / 2) % 2;
    const uint column = (lane / 8) % 2 * 4 + lane % 2 * 2;
    simdgroup_float8x8 sum;
    simdgroup_bfloat8x8 left, right;
    simdgroup_load(sum, c, 8);
    simdgroup_load(right, b, 8);
    device const uint *from = (device const uint *)(a + row * 8 + column);
    uint two = from[0];
#pragma clang loop unroll(disable)
    for (uint t = 1; t < 3; t++) {
        left.thread_elements() = as_type<bfloat2>(two);
        simdgroup_multiply_accumulate(sum, left, right, sum);
        two = from[t * 32];
        simdgroup_barrier(mem_flags::mem_device); // it is read now
    }
    simdgroup_store(sum, c, 8);
}
