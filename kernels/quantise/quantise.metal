// Groupwise quantisation and its inverse, a thread per 32-bit word. Groups are powers of two, and their
// words at most as many as a SIMD-group has lanes, which find a group's range together.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "common/memory_hints.h"
#include "quantise/quantise_args.h"

constant uint bits [[function_constant(0)]];
constant bool has_biases [[function_constant(1)]];

constant uint per_word = 32 / bits;
constexpr constant uint per_word_most = 8;
constant uint largest = (1u << bits) - 1;
constant uint middle = 1u << (bits - 1);
constant float middle_number = float(middle);

// Scale and bias as they are stored, so that q is chosen for what will be read.
template <typename S>
static void choose(float low, float high, thread S &scale, thread S &bias) {
    if (has_biases) {
        scale = S((high - low) / float(largest));
        bias = S(low);
    } else {
        // The side with the larger magnitude gets the end of the range: -middle exactly.
        float extreme = -low > high ? low : high;
        scale = S(extreme / -float(middle));
        bias = S(0);
    }
}

template <typename T, typename S>
kernel void quantise(device const T *x [[buffer(0)]],
                     device uint *packed [[buffer(1)]],
                     device S *scales [[buffer(2)]],
                     device S *biases [[buffer(3)]],
                     constant quantise_args &args [[buffer(4)]],
                     uint2 position [[thread_position_in_grid]],
                     uint2 grid [[threads_per_grid]]) {
    const ulong at = ulong(position.y) * grid.x + position.x;
    const uint words = args.group_size / per_word;
    if (at >= args.groups * words) {
        return;
    }
    device const T *from = x + at * per_word;
    float values[per_word_most];
    float low = INFINITY, high = -INFINITY;
#pragma unroll
    for (uint i = 0; i < per_word; i++) {
        values[i] = float(from[i]);
        low = min(low, values[i]);
        high = max(high, values[i]);
    }
    // the lanes of a group, at most 32, are neighbours
    for (uint step = 1; step < words; step *= 2) {
        low = min(low, simd_shuffle_xor(low, ushort(step)));
        high = max(high, simd_shuffle_xor(high, ushort(step)));
    }
    S scale, bias;
    choose<S>(low, high, scale, bias);
    if ((at & (words - 1)) == 0) {
        const ulong group = at >> ctz(words);
        scales[group] = scale;
        if (has_biases) {
            biases[group] = bias;
        }
    }
    const float inverse = float(scale) == 0 ? 0 : 1 / float(scale);
    const float zero = has_biases ? -float(bias) * inverse : float(middle);
    uint word = 0;
#pragma unroll
    for (uint i = 0; i < per_word; i++) {
        const float q = rint(fma(values[i], inverse, zero));
        word |= uint(clamp(q, 0.0f, float(largest))) << (i * bits);
    }
    packed[at] = word;
}

template <typename T, typename S>
kernel void dequantise(device const uint *packed [[buffer(0)]],
                       device const S *scales [[buffer(1)]],
                       device const S *biases [[buffer(2)]],
                       device T *out [[buffer(3)]],
                       constant quantise_args &args [[buffer(4)]],
                       uint2 position [[thread_position_in_grid]],
                       uint2 grid [[threads_per_grid]]) {
    ulong at = ulong(position.y) * grid.x + position.x;
    const uint words = args.group_size / per_word;
    if (at >= args.groups * words) {
        return;
    }
    ulong group = at >> ctz(words);
    uint word = packed[at];
    float scale = float(scales[group]);
    float bias = has_biases ? float(biases[group]) : -float(middle) * scale;
    device vec<T, 4> *to = (device vec<T, 4> *)(out + at * per_word);
    for (uint i = 0; i < per_word / 4; i++) {
        float4 q;
        for (uint k = 0; k < 4; k++) {
            q[k] = float((word >> ((4 * i + k) * bits)) & largest);
        }
        to[i] = vec<T, 4>(fma(float4(scale), q, float4(bias)));
    }
}

// The same for CPUs, lanes along the numbers: 32 words of a SIMD-group are per_word times 32 numbers, each 32
// of one group. Of 4 bits, the lanes first have the 16 numbers that there are in a group.
template <typename T, typename S>
kernel void dequantise_lanes(device const uint *packed [[buffer(0)]],
                             device const S *scales [[buffer(1)]],
                             device const S *biases [[buffer(2)]],
                             device T *out [[buffer(3)]],
                             constant quantise_args &args [[buffer(4)]],
                             uint2 position [[thread_position_in_grid]],
                             uint2 grid [[threads_per_grid]],
                             uint lane [[thread_index_in_simdgroup]]) {
    const ulong total = args.groups * (args.group_size / per_word);
    const ulong first = ulong(position.y) * grid.x + (position.x - lane);
    if (first >= total) {
        return;
    }
    const uint shift = lane % per_word * bits, from = lane / per_word;
    const ulong numbers = total * per_word;
    const uint word = first + lane < total ? packed[first + lane] : 0;
    T known = T(0);
    ulong last = ~0ul;
#pragma unroll
    for (uint i = 0; i < per_word; i++) {
        const ulong at = first * per_word + i * 32;
        if (at >= numbers) {
            break;
        }
        const ulong one = at >> ctz(args.group_size);
        const float scale = float(scales[one]);
        const float bias = has_biases ? float(biases[one]) : -float(middle) * scale;
        const uint q = (simd_shuffle(word, ushort(i * (32 / per_word) + from)) >> shift) & largest;
        T value;
        if (bits == 4) {
            if (one != last) {
                known = T(fma(scale, float(lane & largest), bias));
                last = one;
            }
            value = simd_shuffle(known, ushort(q));
        } else {
            value = T(fma(scale, float(q), bias));
        }
        if (at + 32 <= numbers) {
            out[at + lane] = value;
        } else if (at + lane < numbers) {
            out[at + lane] = value;
        }
    }
}

#define INSTANTIATE_PAIR(name, t, type, s, scale) \
    INSTANTIATE_KERNEL(#name "_" #t "_" #s, name<type, scale>)
#define INSTANTIATE_BOTH(t, type, s, scale) \
    INSTANTIATE_PAIR(quantise, t, type, s, scale) \
    INSTANTIATE_PAIR(dequantise, t, type, s, scale) \
    INSTANTIATE_PAIR(dequantise_lanes, t, type, s, scale)
#include "quantise/quantise_pairs.h"
#include "quantise/quantise_rows.h"
#include "quantise/quantise_wide.h"
#include "quantise/quantise_units.h"
INSTANTIATE_KERNEL("quantised_pairs_8_bf16_bf16", quantised_pairs<bfloat, bfloat, 2, 1>)
INSTANTIATE_KERNEL("quantised_pairs_16_bf16_bf16", quantised_pairs<bfloat, bfloat, 2, 2>)
INSTANTIATE_KERNEL("quantised_pairs_32_bf16_bf16", quantised_pairs<bfloat, bfloat, 1, 4>)
INSTANTIATE_KERNEL("quantised_sums_8_bf16", quantised_sums<bfloat, 8>)
INSTANTIATE_KERNEL("quantised_sums_16_bf16", quantised_sums<bfloat, 16>)
INSTANTIATE_KERNEL("quantised_sums_32_bf16", quantised_sums<bfloat, 32>)
INSTANTIATE_KERNEL("quantised_units_f16_f16", quantised_units<half, half, 128, 128>)
INSTANTIATE_KERNEL("quantised_units_bf16_bf16", quantised_units<bfloat, bfloat, 128, 256>)
INSTANTIATE_BOTH(f32, float, f32, float)
INSTANTIATE_BOTH(f16, half, f32, float)
INSTANTIATE_BOTH(bf16, bfloat, f32, float)
INSTANTIATE_BOTH(f16, half, f16, half)
INSTANTIATE_BOTH(bf16, bfloat, bf16, bfloat)
