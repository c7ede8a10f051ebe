// make_diagonal_simdgroup_matrix: the value on the diagonal, zero elsewhere.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64]
// EXPECT 0: f32[64] = i % 9 == 0 ? 2.5 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *out [[buffer(0)]]) {
    simdgroup_float8x8 m = make_diagonal_simdgroup_matrix<float, 8, 8>(2.5f);
    simdgroup_store(m, out, 8);
}
