// simd_all and simd_any, also under divergence.
// RUN: kernel=k threads=32 group=32
// ARG 0: i32[5]
// EXPECT 0: i32 [1 0 1 0 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    bool a = simd_all(i < 32), b = simd_all(i < 31), c = simd_any(i == 7), d = simd_any(i == 99), e = false;
    if (i < 4)
        e = simd_all(i < 4);
    if (i == 0) {
        x[0] = a;
        x[1] = b;
        x[2] = c;
        x[3] = d;
        x[4] = e;
    }
}
