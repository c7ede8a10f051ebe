// Columns of a matrix are in the address space of the matrix.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32 [1 2 3 4 5 6 7 8]
// ARG 1: f32 [10 20 30 40]
// ARG 2: f32[16]
// EXPECT 2: f32 [5 6 7 8 30 40 4 8 2 3 0 0 1 2 0 0]
#include <metal_stdlib>
using namespace metal;

struct Pair {
    float2x2 m;
};
float4 read(const device float4 *p) { return *p; }
void write(threadgroup float4 *p, float4 x) { *p = x; }

kernel void k(device float2x4 &in [[buffer(0)]], constant Pair *pairs [[buffer(1)]],
              device float4 *out [[buffer(2)]]) {
    threadgroup float2x4 shared;
    out[0] = read(&in[1]);
    constant float2 *const column = &pairs->m[1];
    write(&shared[0], out[0] - 1);
    shared[1] = float4(column->x);
    float3x3 own = float3x3(1);
    thread float3 &middle = own[1];
    middle.x = 2;
    out[1] = float4(*column, shared[0].x, 8);
    out[2] = float4(own[1][0], in[0].z, own[0][1], shared[1].x - 30);
    device float4 &last = *(device float4 *)&out[3];
    last = float4(in[0].xy, 0, 0);
}
