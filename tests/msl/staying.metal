// Loads of what leaves caches last (prelude/ingot_builtins.h): the same values, of every width, also where the address
// differs between lanes or a part of them loads.
// RUN: kernel=sums threads=128,1,1 group=64,1,1
// ARG 0: u32[512] = i
// ARG 1: u32[128]
// EXPECT 1: u32[128] = 12 * i + 6 + 2 * i + 1 + i + 4 * i + i + (i % 3 == 1 ? 127 - i : 0)
#include <metal_stdlib>
using namespace metal;

kernel void sums(device const uint *in [[buffer(0)]],
                 device uint *out [[buffer(1)]],
                 uint i [[thread_position_in_grid]]) {
    device const uint *staying = (device const uint *)__ingot_staying((device const char *)in);
    uint4 four = *(device const uint4 *)(staying + 4 * i);
    uint2 two = *(device const uint2 *)(staying + 2 * i);
    ushort half_word = *(device const ushort *)(staying + i);
    uint sum = four.y + four.z + four.w + two.y + staying[i] + staying[4 * i] + half_word;
    if (i % 3 == 1) {
        sum += staying[127 - i];
    }
    out[i] = sum;
}
