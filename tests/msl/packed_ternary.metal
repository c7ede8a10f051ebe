// Packed vectors as operands of ?:, with vectors, packed vectors and numbers.
// RUN: kernel=k threads=2 group=2
// ARG 0: f32[48]
// ARG 1: f32[6] = i + 1
// ARG 2: f32[3] = 10 * (i + 1)
// EXPECT 0: f32 [1 2 3  7 7 7  10 20 30  10 20 30  5 5 5  2 4 6  14 0 2  8 9 0  7 7 7  4 5 6  40 50 60  4 5 6  4 5 6  8 10 12  32 0 8  4 5 0]
#include <metal_stdlib>
using namespace metal;

struct body {
    packed_float3 at;
};

kernel void k(device packed_float3 *out, device body *bodies, constant packed_float3 &far,
              uint i [[thread_position_in_grid]]) {
    device packed_float3 *to = out + 8 * i;
    float3 seven = 7;
    packed_float3 near = bodies[i].at;
    to[0] = i == 0 ? bodies[i].at : seven;
    to[1] = i == 0 ? seven : near;
    to[2] = i == 0 ? far : float3(far) * float(4 * i) - float3(0, 30, 60);
    to[2] = i == 0 ? to[2] : packed_float3(40, 50, 60);
    to[3] = i == 0 ? far : bodies[i].at;
    to[4] = i == 0 ? packed_float3(5) : float3(bodies[i].at);
    auto chosen = i == 0 ? near : bodies[i].at;
    to[5] = 2 * chosen;
    to[6] = float3(dot(i == 0 ? near : bodies[i].at, float3(1, 2, 3)), 0, (i == 0 ? far : near)[0]);
    to[6].z = i == 0 ? to[6].z / 5 : to[6].z * 2;
    chosen = float3(8, 9, 0);
    to[7] = i == 0 ? chosen : float3((i == 1 ? near : 0.0f).xy, 0);
}
