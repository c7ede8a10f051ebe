// The same on 8 and 16 bits count those bits only.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[6]
// EXPECT 0: u32 [4 8 3 16 2 128]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]]) {
    uchar a = 0x0f, zero = 0;
    ushort b = 0x1000, none = 0;
    x[0] = clz(a);
    x[1] = clz(zero);
    x[2] = clz(b);
    x[3] = ctz(none);
    x[4] = popcount(uchar(0x81));
    x[5] = reverse_bits(uchar(1));
}
