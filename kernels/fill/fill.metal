// Writes one value everywhere. Only its bits matter, so all types are filled as words of four bytes; a
// half of a word may be left at either end.
#include <metal_stdlib>
using namespace metal;
#include "common/elementwise.h"
#include "fill/fill_args.h"

kernel void fill(device ushort *halves [[buffer(0)]], constant fill_args &args [[buffer(1)]],
                 uint2 group [[threadgroup_position_in_grid]],
                 uint2 groups [[threadgroups_per_grid]],
                 uint simd [[simdgroup_index_in_threadgroup]],
                 uint simds [[simdgroups_per_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
    memory_bound<uint>();
    ulong number = simdgroup_number(group, groups, simd, simds);
    device uint *out = (device uint *)halves + args.head;
    const uint value = args.bits;
    ulong at = number * args.block;
    ulong end = min(at + args.block, ulong(args.words));
    for (; at + ELEMENTS_STEP <= end; at += ELEMENTS_STEP) {
        if (line_wide) {
            ((device uint4 *)(out + at))[lane] = uint4(value);
        } else {
            device uint *to = out + at;
            to[lane] = value;
            to[lane + 32] = value;
            to[lane + 64] = value;
            to[lane + 96] = value;
        }
    }
    for (at += lane; at < end; at += 32)
        out[at] = value;
    if (number == 0 && lane == 0) {
        if (args.head)
            halves[1] = ushort(value);
        if (args.tail)
            halves[2 * (args.head + args.words)] = ushort(value);
    }
}
