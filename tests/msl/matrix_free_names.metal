// The names of matrices are in namespace metal: outside of it they are free, as float3 is not.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[5]
// EXPECT 0: f32 [6 1 0 2 3]
#include <metal_stdlib>
#include <simd/simd.h>

struct float3x3 {
    float3 x, y, z;
};

float3x3 rows_of(float3 v) {
    return {v, 2 * v, 3 * v};
}

kernel void k(device float *out [[buffer(0)]]) {
    metal::float3x3 one(1.0f);
    out[0] = rows_of(float3(1, 2, 3)).z.y;
    out[1] = one[1][1];
    out[2] = one[1][2];
    out[3] = simd_float3x3(2.0f)[2][2];
    out[4] = simd::float3x3(3.0f)[0][0];
}
