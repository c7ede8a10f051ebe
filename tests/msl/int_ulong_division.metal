// Unsigned 64-bit division by a varying divisor.
// RUN: kernel=k threads=16 group=16
// ARG 0: u64[16]
// EXPECT 0: u64[16] = floor(18446744073709551615 / (i + 3))
#include <metal_stdlib>
using namespace metal;

kernel void k(device ulong *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 0xfffffffffffffffful / (i + 3);
}
