// short and ushort vectors wrap in 16 bits.
// RUN: kernel=k threads=1 group=1
// ARG 0: i16[4]
// ARG 1: u16[4]
// EXPECT 0: i16 [-32768 -2 3 4]
// EXPECT 1: u16 [0 1 65535 8]
#include <metal_stdlib>
using namespace metal;

kernel void k(device short4 *x [[buffer(0)]], device ushort4 *y [[buffer(1)]]) {
    x[0] = short4(32767, -3, 2, 3) + short(1);
    y[0] = ushort4(65535, 0, 65534, 7) + ushort(1);
}
