// Columns, elements, matrix times vector and vector times matrix.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[10]
// EXPECT 0: f32 [1 2 3 4 7 10 5 11 3 2]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) {
    float2x2 m(float2(1, 2), float2(3, 4));
    float2 a = m * float2(1, 2);
    float2 b = float2(1, 2) * m;
    x[0] = m[0][0];
    x[1] = m[0][1];
    x[2] = m[1][0];
    x[3] = m[1][1];
    x[4] = a.x;
    x[5] = a.y;
    x[6] = b.x;
    x[7] = b.y;
    x[8] = m.columns[1].x;
    m[0] = m[0].yx;
    x[9] = m[0].x;
}
