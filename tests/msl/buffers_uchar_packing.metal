// 4-bit values in bytes: the heart of quantised kernels.
// RUN: kernel=k threads=32 group=32
// ARG 0: u8[16] = 16 * ((i * 3) % 16) + (i * 5) % 16
// ARG 1: f32[32]
// EXPECT 1: f32[32] = (i < 16 ? (i * 5) % 16 : ((i - 16) * 3) % 16) * 0.5 - 4
#include <metal_stdlib>
using namespace metal;

kernel void k(device const uchar *q [[buffer(0)]], device float *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    uchar b = q[i % 16];
    uint nibble = i < 16 ? (b & 15) : (b >> 4);
    y[i] = float(nibble) * 0.5f - 4;
}
