// Positions and sizes may be declared at program scope; parameters and variables hide them.
// RUN: kernel=Counting::k threads=48 group=16
// CONST inclusive: bool = 1
// ARG 0: u32[48]
// EXPECT 0: u32[48] = 1000 * idiv(i, 16) + 100 * (i % 16) + i + 3
// RUN: kernel=Counting::k threads=48 group=16
// CONST inclusive: bool = 0
// ARG 0: u32[48]
// EXPECT 0: u32[48] = 1000 * idiv(i, 16) + 100 * (i % 16) + 16
// RUN: kernel=Counting::hidden threads=40 group=20
// CONST inclusive: bool = 0
// ARG 0: u32[40]
// EXPECT 0: u32[40] = i % 20 + 7
#include <metal_stdlib>
using namespace metal;

uint3 group_position [[threadgroup_position_in_grid]]; // const or not
namespace Counting {
const uint thread_position_in_grid [[thread_position_in_grid]];
static const ushort lane [[ thread_index_in_threadgroup ]];
namespace Inner {
const uint2 size [[threads_per_threadgroup]];
}
constant bool inclusive [[function_constant(12345)]];

uint add(uint n) {
    if (inclusive)
        return n + thread_position_in_grid;
    return Inner::size.x * Inner::size.y;
}

kernel void k(device uint *out [[buffer(0)]]) {
    uint value = 0;
    for (uint g = 0; g < group_position.x; g++)
        value += 1000;
    out[thread_position_in_grid] = value + min(ushort(100), ushort(255)) * lane + add(3);
}

kernel void hidden(device uint *out [[buffer(0)]], uint thread_position_in_grid [[thread_position_in_grid]],
                   uint lane [[thread_position_in_threadgroup]]) {
    uint group_position = 7;
    out[thread_position_in_grid] = lane + group_position;
}
} // namespace Counting
