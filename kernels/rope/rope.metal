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
// For GPUs: a thread has four pairs of a position, whose angles serve several heads.
template <typename C>
static void angles_of_quad(device const C *cosines, device const C *sines,
                           constant ulong *frequencies, device const int *positions, uint batch,
                           uint row, uint pair, constant rope_wide_args &args, thread float4 &c,
                           thread float4 &s) {
    ulong index = batch * args.index_strides[0] + row * args.index_strides[1];
    long position = position_at(positions, args.position_size, index, args.offset);
    if (!rope_table) {
        for (uint i = 0; i < 4; i++) {
            float cosine, sine;
            angle_of(frequencies[pair + i], position, cosine, sine);
            c[i] = cosine;
            s[i] = sine;
        }
    } else if (ulong(position) < args.table_rows) {
        c = float4(*(device const vec<C, 4> *)(cosines + position * args.cos_stride + pair));
        s = float4(*(device const vec<C, 4> *)(sines + position * args.sin_stride + pair));
    } else {
        c = s = NAN;
    }
    s *= args.sign;
}

// The two vectors of four that belong together, turned.
static void turn_quad(thread float4 &a, thread float4 &b, float4 c, float4 s) {
    if (rope_interleaved) {
        float4 even = float4(a.x, a.z, b.x, b.z), odd = float4(a.y, a.w, b.y, b.w);
        float4 p = fma(even, c, -(odd * s)), q = fma(even, s, odd * c);
        a = float4(p.x, q.x, p.y, q.y);
        b = float4(p.z, q.z, p.w, q.w);
    } else {
        float4 p = fma(a, c, -(b * s));
        b = fma(a, s, b * c);
        a = p;
    }
}

// N heads: all of them are loaded before the first is stored.
template <uint N, typename T>
static void turn_heads(device const T *x, device T *out, ulong x_stride, ulong out_stride,
                       uint apart, float4 c, float4 s) {
    typedef vec<T, 4> four;
    float4 a[N], b[N];
#pragma unroll
    for (uint i = 0; i < N; i++) {
        a[i] = float4(*(device const four *)(x + i * x_stride));
        b[i] = float4(*(device const four *)(x + i * x_stride + apart));
    }
#pragma unroll
    for (uint i = 0; i < N; i++) {
        turn_quad(a[i], b[i], c, s);
        *(device four *)(out + i * out_stride) = four(a[i]);
        *(device four *)(out + i * out_stride + apart) = four(b[i]);
    }
}

template <typename T, typename C>
[[max_total_threads_per_threadgroup(768)]] // registers for the loads
kernel void
rope_wide(device const T *x [[buffer(0)]], device T *out [[buffer(1)]],
          device const int *positions [[buffer(2)]], constant ulong *frequencies [[buffer(3)]],
          device const C *cosines [[buffer(4)]], device const C *sines [[buffer(5)]],
          constant rope_wide_args &args [[buffer(6)]],
          uint3 thread_position [[thread_position_in_grid]]) {
    const uint quads = args.pairs / 4, row = thread_position.x / quads;
    const uint pair = (thread_position.x - row * quads) * 4, batch = thread_position.z;
    float4 c, s;
    angles_of_quad(cosines, sines, frequencies, positions, batch, row, pair, args, c, s);
    uint head = thread_position.y * args.block, end = min(head + args.block, args.heads);
    // where the two vectors of four are that belong together
    const uint first = rope_interleaved ? 2 * pair : pair, apart = rope_interleaved ? 4 : args.pairs;
    const ulong x_stride = args.x_strides[1], out_stride = args.out_strides[1];
    x += batch * args.x_strides[0] + row * args.x_strides[2] + head * x_stride + first;
    out += batch * args.out_strides[0] + row * args.out_strides[2] + head * out_stride + first;
    constexpr uint heads = 4;
    for (; head + heads <= end; head += heads) {
        turn_heads<heads>(x, out, x_stride, out_stride, apart, c, s);
        x += heads * x_stride;
        out += heads * out_stride;
    }
    for (; head < end; head++) {
        turn_heads<1>(x, out, x_stride, out_stride, apart, c, s);
        x += x_stride;
        out += out_stride;
    }
}

#define INSTANTIATE_ROPE_WIDE(types, ...)                                                          \
    INSTANTIATE_KERNEL("rope_wide_" types, rope_wide<__VA_ARGS__>)
INSTANTIATE_ROPE_WIDE("f32", float, float)
INSTANTIATE_ROPE_WIDE("f16", half, float)
INSTANTIATE_ROPE_WIDE("bf16", bfloat, float)
INSTANTIATE_ROPE_WIDE("f16_f16", half, half)
INSTANTIATE_ROPE_WIDE("bf16_bf16", bfloat, bfloat)
INSTANTIATE_KERNEL("rope_f32", rope<float, float>)
INSTANTIATE_KERNEL("rope_f16", rope<half, float>)
INSTANTIATE_KERNEL("rope_bf16", rope<bfloat, float>)
INSTANTIATE_KERNEL("rope_f16_f16", rope<half, half>)
INSTANTIATE_KERNEL("rope_bf16_bf16", rope<bfloat, bfloat>)
