// Colours of 5, 6 and 5 bits survive packing where the bits can hold them.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[3]
// EXPECT 0: f32 [1 0 1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *out [[buffer(0)]]) {
    float3 back = unpack_unorm565_to_float(pack_float_to_unorm565(float3(1, 0, 1)));
    out[0] = back.x;
    out[1] = back.y;
    out[2] = back.z;
}
