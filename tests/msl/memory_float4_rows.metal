// float4 accesses of lanes that stand in rows: in a row of 4, of 2, and each elsewhere.
// RUN: kernel=k threads=64 group=64
// ARG 0: f32[1024] = i
// ARG 1: f32[256]
// ARG 2: u32 = 4
// ARG 3: u32 = 64
// EXPECT 1: f32[256] = 64 * idiv(i, 16) + i % 16
// RUN: kernel=k threads=64 group=64
// ARG 0: f32[1024] = i
// ARG 1: f32[256]
// ARG 2: u32 = 2
// ARG 3: u32 = 32
// EXPECT 1: f32[256] = 32 * idiv(i, 8) + i % 8
// RUN: kernel=k threads=45 group=45
// ARG 0: f32[1024] = i
// ARG 1: f32[256]
// ARG 2: u32 = 1
// ARG 3: u32 = 12
// EXPECT 1: f32[256] = i < 180 ? 12 * idiv(i, 4) + i % 4 : 0
// RUN: kernel=odd threads=64 group=64
// ARG 0: f32[1024] = i
// ARG 1: f32[256]
// ARG 2: u32 = 4
// ARG 3: u32 = 64
// EXPECT 1: f32[256] = idiv(i, 4) % 3 == 1 ? 0 : 64 * idiv(i, 16) + i % 16
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float *from [[buffer(0)]], device float *to [[buffer(1)]],
              constant uint &row [[buffer(2)]], constant uint &stride [[buffer(3)]],
              uint i [[thread_position_in_grid]]) {
    float4 value = *(device const float4 *)(from + i / row * stride + i % row * 4);
    *(device float4 *)(to + (i / row * row + i % row) * 4) = value;
}

kernel void odd(device const float *from [[buffer(0)]], device float *to [[buffer(1)]],
                constant uint &row [[buffer(2)]], constant uint &stride [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    if (i % 3 != 1) {
        float4 value = *(device const float4 *)(from + i / row * stride + i % row * 4);
        *(device float4 *)(to + (i / row * row + i % row) * 4) = value;
    }
}
