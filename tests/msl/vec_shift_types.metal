// Shifts of vectors by scalars and by vectors of another integer type.
// RUN: kernel=k threads=8
// ARG 0: u32[8]
// EXPECT 0: u32[8] = (i * 4) + (i * 8) + floor(i / 2) + i * 32 + 2 + i * 2
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint4 u = i;
    uint4 a = u << 2;
    uint3 b = u.xyz << short3(3);
    ushort2 c = ushort2(i) >> uint2(1);
    u <<= uchar4(5);
    int2 d = 1 << int2(1, 2);
    u.x += a.x + b.y + c.x + d.x;
    uint2 e = uint2(i);
    e <<= 1;
    x[i] = u.x + e.y;
}
