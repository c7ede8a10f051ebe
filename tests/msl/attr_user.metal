// [[user(name)]], which translators put where they know no index, numbers nothing: the parameter
// is numbered as one without an attribute.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32 [1 2 3 4]
// ARG 1: f32[4]
// EXPECT 1: f32 [2 4 6 8]
#include <metal_stdlib>

kernel void k(metal::uint3 id [[thread_position_in_grid]], device metal::float4 const &in [[user(fake0)]],
              device float *out [[buffer(1)]]) {
    out[id.x] = 2 * in[id.x];
}
