// C casts and reinterpret_cast with an address space.
// RUN: kernel=k threads=4 group=4
// ARG 0: u32 [1065353216 1073741824 1077936128 1082130432]
// ARG 1: u8[16]
// EXPECT 0: f32 [2 4 6 8]
// EXPECT 1: u8 [1 0 0 0 2 0 0 0 3 0 0 0 4 0 0 0]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], device uchar *b [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    device float *f = (device float *)x;
    f[i] = f[i] * 2;
    device uint *words = reinterpret_cast<device uint *>(b);
    words[i] = i + 1;
}
