// What level aarch64-bf16 promises of bfloat products (docs/design/tiles.md), which tools/test-arm asks for: of four
// neighbours of k, two by two, odd(sum + odd(a * b + a * b)), rounded to odd; too small numbers are zeros.
// Row 0: 2^24 + 1 is odd(16777217) = 16777218. Row 1: 2^24 + 1 within a pair is that, too, less 2^24 of the sum.
// Row 2: the second pair comes after the first, and what is exact stays. Row 3: 2^-130 is too small.
// Row 4: one too small in an operand. Row 5: 2^-126 is not too small. Row 6: the sum is too small. Row 7: infinity.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = i < 8 ? 16777216 : i < 16 ? -16777216 : i < 48 ? 0 : i < 56 ? exp2(-130) : 1
// EXPECT 0: f32[64] = i < 8 ? 16777218 : i < 16 ? 2 : i < 24 ? 3 : i < 40 ? 0 : i < 48 ? exp2(-126) : i < 56 ? 0 : 1 / 0
#include <metal_stdlib>
using namespace metal;

// Row r of the left side, with the columns of a matrix of ones.
constant float rows[8][8] = {{1},
                             {4096 * 4096.0f, 1},
                             {16777216, -16777216, 1, 2},
                             {0x1p-130f},
                             {0x1p-128f},
                             {0x1p-126f},
                             {0},
                             {INFINITY}};

kernel void k(device float *c [[buffer(0)]], uint lane [[thread_index_in_threadgroup]]) {
    threadgroup bfloat a[64], b[64];
    for (uint i = lane; i < 64; i += 32) {
        a[i] = bfloat(rows[i / 8][i % 8]);
        b[i] = bfloat(1.0f);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    simdgroup_bfloat8x8 left, right;
    simdgroup_float8x8 sum;
    simdgroup_load(left, a, 8);
    simdgroup_load(right, b, 8);
    simdgroup_load(sum, c, 8);
    simdgroup_multiply_accumulate(sum, left, right, sum);
    simdgroup_store(sum, c, 8);
}
