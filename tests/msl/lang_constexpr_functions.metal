// constexpr functions size arrays.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[2]
// EXPECT 0: i32 [16 120]
#include <metal_stdlib>
using namespace metal;

constexpr int square(int n) { return n * n; }
kernel void k(device int *x [[buffer(0)]]) {
    int a[square(4)];
    for (int i = 0; i < square(4); i++)
        a[i] = i;
    int s = 0;
    for (int i = 0; i < 16; i++)
        s += a[i];
    x[0] = sizeof(a) / sizeof(a[0]);
    x[1] = s;
}
