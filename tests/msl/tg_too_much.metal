// More threadgroup memory than the device has is refused before anything runs.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[32]
// TG 0: 40000
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: 40000
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], threadgroup float *s [[threadgroup(0)]], uint i [[thread_position_in_grid]]) {
    s[i] = x[i];
    x[i] = s[i];
}
