// Rotary position embedding: pairs of a row's elements are turned by an angle that grows with the
// row's position. Angles come from a table, or are computed where they are needed.
//
// A frequency is a 64-bit fraction of a turn, so position times frequency drops whole turns by itself
// and is exact: positions of any size keep the full accuracy of float.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "common/memory_hints.h"
#include "rope/rope_args.h"

constant bool rope_interleaved [[function_constant(0)]]; // pairs are neighbours, not halves
constant bool rope_table [[function_constant(1)]];
constant bool rope_stays [[function_constant(2)]]; // x in caches: see memory_hints.h

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
constant constexpr uint ROPE_WIDE_THREADS_AT_ONCE = 1024;  // 64 registers each
constant constexpr uint ROPE_LINES_THREADS_AT_ONCE = 1536; // 40

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

// Two vectors of four that belong together, turned.
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

// A thread's pairs of one head: `apart` elements after the first half of them comes the other.
template <uint QUADS, typename T> struct rope_pairs {
    vec<T, 4> v[2 * QUADS];

    void fetch(device const T *x, uint apart) {
        for (uint side = 0; side < 2; side++, x += apart) {
            if constexpr (QUADS == 2) {
                uint4 eight = *(device const uint4 *)x;
                v[2 * side] = as_type<vec<T, 4>>(eight.xy);
                v[2 * side + 1] = as_type<vec<T, 4>>(eight.zw);
            } else {
                v[side] = *(device const vec<T, 4> *)x;
            }
        }
    }

    void turn(thread const float4 *c, thread const float4 *s) {
        for (uint q = 0; q < QUADS; q++) {
            const uint first = rope_interleaved ? 2 * q : q, second = first + (rope_interleaved ? 1 : QUADS);
            float4 a = float4(v[first]), b = float4(v[second]);
            turn_quad(a, b, c[q], s[q]);
            v[first] = vec<T, 4>(a);
            v[second] = vec<T, 4>(b);
        }
    }

    void put(device T *out, uint apart) {
        for (uint side = 0; side < 2; side++, out += apart) {
            if constexpr (QUADS == 2)
                *(device uint4 *)out =
                    uint4(as_type<uint2>(v[2 * side]), as_type<uint2>(v[2 * side + 1]));
            else
                *(device vec<T, 4> *)out = v[side];
        }
    }
};

template <uint N, typename T>
static void fetch_heads(device const T *x, ulong stride, uint apart,
                        thread rope_pairs<1, T> *heads) {
#pragma unroll
    for (uint i = 0; i < N; i++)
        heads[i].fetch(rope_stays ? evict_last(x + i * stride) : x + i * stride, apart);
}

template <uint N, typename T>
static void turn_heads(device T *out, ulong stride, uint apart, float4 c, float4 s,
                       thread rope_pairs<1, T> *heads) {
#pragma unroll
    for (uint i = 0; i < N; i++) {
        heads[i].turn(&c, &s);
        heads[i].put(out + i * stride, apart);
    }
}

// HEADS at a time: all of them are loaded before the first is stored, and those of float before the
// angles are computed; for 16-bit types that takes too many registers.
template <typename T, typename C, uint HEADS>
[[max_total_threads_per_threadgroup(768)]] // registers for the loads
kernel void
rope_wide(device const T *x [[buffer(0)]], device T *out [[buffer(1)]],
          device const int *positions [[buffer(2)]], constant ulong *frequencies [[buffer(3)]],
          device const C *cosines [[buffer(4)]], device const C *sines [[buffer(5)]],
          constant rope_wide_args &args [[buffer(6)]],
          uint3 thread_position [[thread_position_in_grid]]) {
    constexpr bool AHEAD = sizeof(T) == 4;
    threads_at_once(AHEAD ? ROPE_WIDE_THREADS_AT_ONCE : 0);
    const uint quads = args.pairs / 4, row = thread_position.x / quads;
    const uint pair = (thread_position.x - row * quads) * 4, batch = thread_position.z;
    uint head = thread_position.y * args.block, end = min(head + args.block, args.heads);
    const uint first = rope_interleaved ? 2 * pair : pair, apart = rope_interleaved ? 4 : args.pairs;
    const ulong x_stride = args.x_strides[1], out_stride = args.out_strides[1];
    x += batch * args.x_strides[0] + row * args.x_strides[2] + head * x_stride + first;
    out += batch * args.out_strides[0] + row * args.out_strides[2] + head * out_stride + first;
    rope_pairs<1, T> heads[HEADS];
    if (AHEAD && head + HEADS <= end)
        fetch_heads<HEADS>(x, x_stride, apart, heads);
    float4 c, s;
    angles_of_quad(cosines, sines, frequencies, positions, batch, row, pair, args, c, s);
    while (head + HEADS <= end) {
        if (!AHEAD)
            fetch_heads<HEADS>(x, x_stride, apart, heads);
        turn_heads<HEADS>(out, out_stride, apart, c, s, heads);
        head += HEADS;
        x += HEADS * x_stride;
        out += HEADS * out_stride;
        if (AHEAD && head + HEADS <= end)
            fetch_heads<HEADS>(x, x_stride, apart, heads);
    }
    for (; head < end; head++) {
        fetch_heads<1>(x, x_stride, apart, heads);
        turn_heads<1>(out, out_stride, apart, c, s, heads);
        x += x_stride;
        out += out_stride;
    }
}

// For GPUs, with a table: a thread has some pairs of one row, and threads walk memory in its order.
// Reading a table again for every head costs less than walking several heads at once.
template <typename T, typename C, uint QUADS>
[[max_total_threads_per_threadgroup(512)]]
kernel void
rope_lines(device const T *x [[buffer(0)]], device T *out [[buffer(1)]],
           device const int *positions [[buffer(2)]], device const C *cosines [[buffer(3)]],
           device const C *sines [[buffer(4)]], constant rope_lines_args &args [[buffer(5)]],
           uint3 group [[threadgroup_position_in_grid]],
           uint me [[thread_index_in_threadgroup]]) {
    threads_at_once(ROPE_LINES_THREADS_AT_ONCE);
    const uint line = (me * args.parts_inverse) >> 16, at = group.x * args.lines + line;
    const uint pair = (me - line * args.parts) * (4 * QUADS);
    const uint first = rope_interleaved ? 2 * pair : pair;
    const uint apart = rope_interleaved ? 4 * QUADS : args.pairs;
    if (at >= args.length)
        return;
    x += group.z * args.x_strides[0] + group.y * args.x_strides[1] + first;
    x += at * args.x_strides[2];
    rope_pairs<QUADS, T> pairs;
    pairs.fetch(rope_stays ? evict_last(x) : x, apart);
    const uint index = group.z * args.index_strides[0] + group.y * args.index_strides[1];
    const long position = position_at(positions, args.position_size,
                                      index + at * args.index_strides[2], args.offset);
    const bool inside = ulong(position) < args.table_rows;
    cosines += uint(position) * args.cos_stride + pair;
    sines += uint(position) * args.sin_stride + pair;
    if (rope_stays) { // or x would drive the table out
        cosines = evict_last(cosines);
        sines = evict_last(sines);
    }
    float4 c[QUADS], s[QUADS];
    for (uint q = 0; q < QUADS; q++) {
        c[q] = s[q] = NAN;
        if (inside) {
            c[q] = float4(*(device const vec<C, 4> *)(cosines + 4 * q));
            s[q] = float4(*(device const vec<C, 4> *)(sines + 4 * q));
        }
        s[q] *= args.sign;
    }
    pairs.turn(c, s);
    out += group.z * args.out_strides[0] + group.y * args.out_strides[1] + first;
    pairs.put(out + at * args.out_strides[2], apart);
}

#define INSTANTIATE_ROPE_LINES(types, ...)                                                         \
    INSTANTIATE_KERNEL("rope_lines_" types, rope_lines<__VA_ARGS__>)
INSTANTIATE_ROPE_LINES("f32_4", float, float, 1)
INSTANTIATE_ROPE_LINES("f16_4", half, float, 1)
INSTANTIATE_ROPE_LINES("f16_8", half, float, 2)
INSTANTIATE_ROPE_LINES("bf16_4", bfloat, float, 1)
INSTANTIATE_ROPE_LINES("bf16_8", bfloat, float, 2)
INSTANTIATE_ROPE_LINES("f16_f16_4", half, half, 1)
INSTANTIATE_ROPE_LINES("f16_f16_8", half, half, 2)
INSTANTIATE_ROPE_LINES("bf16_bf16_4", bfloat, bfloat, 1)
INSTANTIATE_ROPE_LINES("bf16_bf16_8", bfloat, bfloat, 2)
#define INSTANTIATE_ROPE_WIDE(types, ...)                                                          \
    INSTANTIATE_KERNEL("rope_wide_" types, rope_wide<__VA_ARGS__>)
INSTANTIATE_ROPE_WIDE("f32", float, float, 2)
INSTANTIATE_ROPE_WIDE("f16", half, float, 4)
INSTANTIATE_ROPE_WIDE("bf16", bfloat, float, 4)
INSTANTIATE_ROPE_WIDE("f16_f16", half, half, 4)
INSTANTIATE_ROPE_WIDE("bf16_bf16", bfloat, bfloat, 4)
INSTANTIATE_KERNEL("rope_f32", rope<float, float>)
INSTANTIATE_KERNEL("rope_f16", rope<half, float>)
INSTANTIATE_KERNEL("rope_bf16", rope<bfloat, float>)
INSTANTIATE_KERNEL("rope_f16_f16", rope<half, half>)
INSTANTIATE_KERNEL("rope_bf16_bf16", rope<bfloat, bfloat>)
