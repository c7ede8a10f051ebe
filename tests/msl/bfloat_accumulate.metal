// bfloat accumulation rounds each time: 256 + 1 + 1 … stays 256.
// RUN: kernel=k threads=1 group=1
// ARG 0: bf16 [256 0]
// EXPECT 0: bf16 [256 258]
#include <metal_stdlib>
using namespace metal;

kernel void k(device bfloat *x [[buffer(0)]]) {
    bfloat a = x[0], b = x[0];
    for (int i = 0; i < 8; i++)
        a += bfloat(1.0f);
    b += bfloat(2.0f);
    x[0] = a;
    x[1] = b;
}
