// Comparisons give bool vectors; select, any and all.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[8]
// EXPECT 0: i32 [10 2 30 4 1 0 0 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]]) {
    int4 a(1, 2, 3, 4), b(10, 20, 30, 40);
    bool4 odd = (a & 1) == 1;
    int4 c = select(a, b, odd);
    for (int i = 0; i < 4; i++)
        x[i] = c[i];
    x[4] = any(odd);
    x[5] = all(odd);
    x[6] = any(a > 4);
    x[7] = all(a <= 4);
}
