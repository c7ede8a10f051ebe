// RUN: kernel=k threads=32 group=32
// ARG 0: i32[32]
// EXPECT 0: i32[32] = (idiv(i, 4) == 3 ? 2 : 0) + (idiv(i, 4) == 3 || idiv(i, 4) == 5 ? 1 : 0)
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *a [[buffer(0)]], uint i [[thread_index_in_simdgroup]]) {
    bool p = i / 4 == 3 || i == 21;
    a[i] = 2 * quad_all(p) + quad_any(p);
}
