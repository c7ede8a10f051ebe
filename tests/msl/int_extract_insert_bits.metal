// RUN: kernel=k threads=1 group=1
// ARG 0: i32[4]
// EXPECT 0: i32 [52 -1 5 16711935]
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]]) {
    x[0] = extract_bits(0x12345678u, 12, 8) == 0x45u ? 52 : -52;
    x[1] = extract_bits(int(0x00f0), 4, 4);
    x[2] = extract_bits(0x50u, 4, 4);
    x[3] = insert_bits(0x00ff0000, 0xff, 0, 8);
}
