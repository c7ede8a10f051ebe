// Rotary position embedding: pairs of a row's elements are turned by an angle that grows with the
// row's position. Angles come from a table, or are computed where they are needed.
//
// A frequency is a 64-bit fraction of a turn, so position times frequency drops whole turns by itself
// and is exact: positions of any size keep the full accuracy of float.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "rope/rope_args.h"

constant bool rope_interleaved [[function_constant(0)]]; // pairs are neighbours, not halves
constant bool rope_table [[function_constant(1)]];

static long position_at(device const int *positions, uint size, ulong index, long offset) {
    if (size == 4)
        return offset + positions[index];
    if (size == 8)
        return offset + ((device const long *)positions)[index];
    return offset + long(index);
}

static void angle_of(ulong frequency, long position, thread float &cosine, thread float &sine) {
    ulong turns = frequency * ulong(position);
    uint high = uint(turns >> 32), low = uint(turns);
    uint quarter = (high + 0x20000000u) >> 30;
    float within = fma(float(low), 0x1p-64f, float(int(high - (quarter << 30))) * 0x1p-32f);
    float c, s = sincos(within * 6.28318531f, c);
    float a = quarter & 1 ? s : c, b = quarter & 1 ? c : s;
    cosine = (quarter + 1) & 2 ? -a : a;
    sine = quarter & 2 ? -b : b;
}

kernel void rope_angles(device const int *positions [[buffer(0)]],
                        constant ulong *frequencies [[buffer(1)]],
                        device float *cosines [[buffer(2)]], device float *sines [[buffer(3)]],
                        constant rope_angles_args &args [[buffer(4)]],
                        uint2 group [[threadgroup_position_in_grid]],
                        uint2 groups [[threadgroups_per_grid]],
                        uint simd [[simdgroup_index_in_threadgroup]],
                        uint simds [[simdgroups_per_threadgroup]],
                        uint lane [[thread_index_in_simdgroup]]) {
    ulong row = (ulong(group.y) * groups.x + group.x) * simds + simd;
    if (row >= args.rows)
        return;
    ulong batch = row / args.length;
    ulong index = batch * args.strides[0] + (row - batch * args.length) * args.strides[1];
    long position = position_at(positions, args.position_size, index, args.offset);
    for (uint i = lane; i < args.pairs; i += 32) {
        float c, s;
        angle_of(frequencies[i], position, c, s);
        cosines[row * args.pairs + i] = c;
        sines[row * args.pairs + i] = s;
    }
}

// Turns 32 pairs of a row, a lane each; pointers stand at the first of them.
template <typename T, typename C>
static void turn_pairs(device const T *x, device T *out, device const C *cosines,
                       device const C *sines, constant ulong *frequencies, long position,
                       float sign, uint apart, uint lane) {
    float c, s;
    if (rope_table) {
        c = float(cosines[lane]);
        s = float(sines[lane]);
    } else {
        angle_of(frequencies[lane], position, c, s);
    }
    s *= sign;
    if (rope_interleaved) {
        float a = float(x[2 * lane]), b = float(x[2 * lane + 1]);
        T turned = T(fma(a, c, -(b * s)));
        out[2 * lane + 1] = T(fma(a, s, b * c));
        out[2 * lane] = turned;
    } else {
        device const T *second = x + apart;
        device T *out_second = out + apart;
        float a = float(x[lane]), b = float(second[lane]);
        out[lane] = T(fma(a, c, -(b * s)));
        out_second[lane] = T(fma(a, s, b * c));
    }
}

template <typename T, typename C>
kernel void rope(device const T *x [[buffer(0)]], device T *out [[buffer(1)]],
                 device const int *positions [[buffer(2)]],
                 constant ulong *frequencies [[buffer(3)]],
                 device const C *cosines [[buffer(4)]], device const C *sines [[buffer(5)]],
                 constant rope_args &args [[buffer(6)]],
                 uint2 group [[threadgroup_position_in_grid]],
                 uint2 groups [[threadgroups_per_grid]],
                 uint simd [[simdgroup_index_in_threadgroup]],
                 uint simds [[simdgroups_per_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
    ulong number = (ulong(group.y) * groups.x + group.x) * simds + simd;
    ulong line = number / args.blocks;
    ulong outer = line / args.extents[1], middle = line - outer * args.extents[1];
    ulong at = (number - line * args.blocks) * args.block;
    ulong end = outer < args.extents[0] ? min(at + args.block, ulong(args.extents[2])) : 0;
    x += outer * args.x_strides[0] + middle * args.x_strides[1];
    out += outer * args.out_strides[0] + middle * args.out_strides[1];
    ulong index = outer * args.index_strides[0] + middle * args.index_strides[1];
    const uint pairs = args.pairs, width = rope_interleaved ? 2 : 1;
    for (; at < end; at++) {
        device const T *from = x + at * args.x_strides[2];
        device T *to = out + at * args.out_strides[2];
        ulong place = index + at * args.index_strides[2];
        long position = long(place);
        if (!rope_table || args.by_position)
            position = position_at(positions, args.position_size, place, args.offset);
        float sign = args.sign;
        device const C *c = cosines, *s = sines;
        if (rope_table) { // a position that the table does not have gives NaN
            bool inside = ulong(position) < args.table_rows;
            ulong row = inside ? ulong(position) : 0;
            sign = inside ? sign : NAN;
            c += row * args.cos_stride;
            s += row * args.sin_stride;
        }
        uint pair = 0;
        for (; pair + 32 <= pairs; pair += 32)
            turn_pairs(from + pair * width, to + pair * width, c + pair, s + pair,
                       frequencies + pair, position, sign, pairs, lane);
        if (lane < pairs - pair)
            turn_pairs(from + pair * width, to + pair * width, c + pair, s + pair,
                       frequencies + pair, position, sign, pairs, lane);
        device const T *rest = from + 2 * pairs;
        device T *out_rest = to + 2 * pairs;
        for (uint i = lane; i < args.rest; i += 32)
            out_rest[i] = rest[i];
    }
}
INSTANTIATE_KERNEL("rope_f32", rope<float, float>)
INSTANTIATE_KERNEL("rope_f16", rope<half, float>)
INSTANTIATE_KERNEL("rope_bf16", rope<bfloat, float>)
INSTANTIATE_KERNEL("rope_f16_f16", rope<half, half>)
INSTANTIATE_KERNEL("rope_bf16_bf16", rope<bfloat, bfloat>)
