// nextafter, ilogb, refract, faceforward.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[8]
// EXPECT 0: f32 [1.00000011920929 0.99951171875 3 -2 0 -1 0 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *out [[buffer(0)]]) {
    out[0] = nextafter(1.0f, 2.0f);
    out[1] = nextafter(1.0h, 0.0h);
    out[2] = ilogb(8.5f);
    out[3] = ilogb(0.25f);
    float2 straight = refract(float2(0, -1), float2(0, 1), 0.5f); // along the normal: not bent
    out[4] = straight.x;
    out[5] = straight.y;
    float2 turned = faceforward(float2(0, 1), float2(0, -1), float2(0, 1));
    out[6] = turned.x;
    out[7] = turned.y;
}
