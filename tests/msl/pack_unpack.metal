// unpack_unorm4x8_to_float and pack_float_to_unorm4x8.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[4]
// ARG 1: u32[1]
// EXPECT 0: f32 [1 0 0.2 0.4] ; tol=1e-6
// EXPECT 1: u32 [1714618623]
#include <metal_stdlib>
using namespace metal;

kernel void k(device float4 *x [[buffer(0)]], device uint *y [[buffer(1)]]) {
    x[0] = unpack_unorm4x8_to_float(0x663300ffu);
    y[0] = pack_float_to_unorm4x8(float4(1, 0, 0.2f, 0.4f));
}
