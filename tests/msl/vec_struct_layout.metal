// Alignment of vectors inside structs.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[6]
// EXPECT 0: u32 [32 16 8 12 16 4]
#include <metal_stdlib>
using namespace metal;

struct A {
    float f;
    float3 v;
};
struct B {
    ushort s;
    half2 h;
};
struct C {
    packed_float2 p;
    float f;
};
kernel void k(device uint *x [[buffer(0)]]) {
    x[0] = sizeof(A);
    x[1] = alignof(A);
    x[2] = sizeof(B);
    x[3] = sizeof(C);
    x[4] = sizeof(float3);
    x[5] = sizeof(char3);
}
