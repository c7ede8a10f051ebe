// Lanes that copy float4s of rows of their own: neighbours within a lane, not between lanes.
// RUN: kernel=k threads=64 group=64
// ARG 0: f32[512] = i * 3 - 100
// ARG 1: f32[640]
// EXPECT 1: f32[640] = i % 20 < 16 && i < 640 ? (idiv(i, 20) * 16 + i % 20) * 3 - 100 : 0
// RUN: kernel=some threads=50 group=50
// ARG 0: f32[512] = i * 3 - 100
// ARG 1: f32[640]
// EXPECT 1: f32[640] = i % 20 < 16 && idiv(i, 20) * 4 + idiv(i % 20, 4) < 50 && (idiv(i, 20) * 4 + idiv(i % 20, 4)) % 3 == 1 ? (idiv(i, 20) * 16 + i % 20) * 3 - 99 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
              uint t [[thread_index_in_threadgroup]]) {
    for (uint i = t; i < 128; i += 64) {
        uint row = i / 4, column = i % 4 * 4;
        *(device float4 *)(y + row * 20 + column) = *(device const float4 *)(x + row * 16 + column);
    }
}

kernel void some(device const float *x [[buffer(0)]], device float *y [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    if (i % 3 == 1) {
        uint row = i / 4, column = i % 4 * 4;
        float4 v = *(device const float4 *)(x + row * 16 + column);
        *(device float4 *)(y + row * 20 + column) = v + 1;
    }
}
