// uniform<T> with plain values, on either side.
// RUN: kernel=k threads=4
// ARG 0: u32[4]
// EXPECT 0: u32[4] = i * 32 + (32 - i) + 32 * 2 + 34 + (i < 32 ? 1 : 0) + 96
#include <metal_stdlib>
#include <metal_uniform>
using namespace metal;

kernel void k(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uniform<uint> width = make_uniform(32u);
    uniform<int> two = make_uniform(2);
    uniform<uint> both = width * uniform<uint>(two);
    uint3 at(i, 0, 0);
    uint mixed = at.x * width + (width - i) + both + (width + two) + (i < width);
    out[i] = mixed + 3 * width;
}
