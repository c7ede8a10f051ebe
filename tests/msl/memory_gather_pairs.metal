// Pairs, quads and eights of small elements at addresses that depend on data.
// RUN: kernel=k threads=40 group=40
// ARG 0: f32[80] = i
// ARG 1: u8[160] = i
// ARG 2: f16[320] = i
// ARG 3: u32[40] = (i * 7) % 40
// ARG 4: f32[40]
// EXPECT 4: f32[40] = (2 * ((i * 7) % 40)) * 10 + (2 * ((i * 7) % 40) + 1) + 4 * ((i * 7) % 40) * 4 + 6 + 8 * ((i * 7) % 40) * 8 + 28
// RUN: kernel=put threads=40 group=40
// ARG 0: u32[40] = (i * 7) % 40
// ARG 1: f32[80]
// ARG 2: u8[160]
// ARG 3: f16[160]
// EXPECT 1: f32[80] = ((idiv(i, 2) * 23) % 40) * 2 + i % 2
// EXPECT 2: u8[160] = ((idiv(i, 4) * 23) % 40) + i % 4
// EXPECT 3: f16[160] = ((idiv(i, 4) * 23) % 40) - i % 4
#include <metal_stdlib>
using namespace metal;

kernel void k(device const float2 *a [[buffer(0)]], device const uchar4 *b [[buffer(1)]],
              device const half *c [[buffer(2)]], device const uint *where [[buffer(3)]],
              device float *out [[buffer(4)]], uint i [[thread_position_in_grid]]) {
    uint w = where[i];
    float2 p = a[w];
    uchar4 q = b[w];
    float sum = p.x * 10 + p.y + (float(q.x) + float(q.y) + float(q.z) + float(q.w));
    for (uint j = 0; j < 8; j++)
        sum += float(c[w * 8 + j]);
    out[i] = sum;
}

kernel void put(device const uint *where [[buffer(0)]], device float2 *a [[buffer(1)]],
                device uchar4 *b [[buffer(2)]], device half4 *c [[buffer(3)]],
                uint i [[thread_position_in_grid]]) {
    uint w = where[i];
    a[w] = float2(2 * i, 2 * i + 1);
    b[w] = uchar4(i, i + 1, i + 2, i + 3);
    c[w] = half4(half(i), half(i) - 1, half(i) - 2, half(i) - 3);
}
