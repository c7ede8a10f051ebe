// An array by reference keeps its size.
// RUN: kernel=k threads=2 group=2
// ARG 0: i32[2]
// EXPECT 0: i32 [10 14]
#include <metal_stdlib>
using namespace metal;

template <int N> int total(thread int (&a)[N]) {
    int sum = 0;
    for (int i = 0; i < N; i++)
        sum += a[i];
    return sum;
}
kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int a[4] = {int(i) + 1, int(i) + 2, int(i) + 3, int(i) + 4};
    x[i] = total(a);
}
