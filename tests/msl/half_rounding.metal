// half rounds after every operation: 2048 + 1 stays 2048, 0.1h * 3 is what rounding each gives.
// RUN: kernel=k threads=1 group=1
// ARG 0: f16[4]
// EXPECT 0: f16 [2048 2050 0.29980469 65504]
#include <metal_stdlib>
using namespace metal;

kernel void k(device half *x [[buffer(0)]]) {
    volatile half big = 2048, one = 1, tenth = 0.1h, max = 65504;
    x[0] = big + one;
    x[2] = tenth + tenth + tenth;
    x[3] = max;
    half sum = big;
    sum += one;
    sum = sum + half(2);
    x[1] = sum;
}
