// out[v] = W x[v] for weights of 4 or 8 bits and up to 8 vectors.
//
// A lane takes every 32nd word of a row, so that the words of a SIMD-group, a line, lie side by side. The
// dot product of a word is
//     scale * sum(x q) + bias * sum(x)
// with sum(x) known beforehand; the bias of symmetric weights is -middle * scale. Scales and biases are
// loaded for 32 groups at a time, one per lane, and handed to the lanes whose words they are for. The
// elements of x that lanes need together are a word's numbers apart: `prepare` turns x around once, so
// that they are neighbours, and adds up the words. Where a launch costs more than the strided reads, the
// `direct` kernel does without.
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "common/memory_hints.h"
#include "quantised_matvec/quantised_matvec_args.h"

constant uint bits [[function_constant(0)]];
constant bool has_biases [[function_constant(1)]];
constant uint vectors [[function_constant(2)]]; // room for: 1, 2, 4 or 8
constant uint rows_at_once [[function_constant(3)]];

constant uint per_word = 32 / bits;
constant float middle = float(1u << (bits - 1));
constant constexpr uint LINES_AHEAD = 16; // of the weights on their way: 2 KiB

// A number that stands at bit b of a word is (word & mask) = q * 2^b: x takes the 2^-b, which is
// exact, and no shift is needed. Only the highest one would be a negative integer, and is shifted.
static bool is_highest(uint place) {
    return place == per_word - 1;
}

// turned: per vector and line, for each number of a word: 32 elements, that of lane l being
// x[(line * 32 + l) * per_word + number] by 2^-b; zeros past the end. starts: per vector, line and lane,
// -middle * sum(x): where the dot product of a symmetric word begins.
template <typename T>
kernel void prepare(device const T *x [[buffer(0)]],
                    device float *turned [[buffer(1)]],
                    device float *starts [[buffer(2)]],
                    constant quantised_matvec_args &args [[buffer(3)]],
                    uint2 group [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]]) {
    const uint words = args.columns / per_word, lines = (words + 31) / 32;
    const uint line = group.x, word = line * 32 + lane;
    const ulong to = ulong(group.y) * lines + line;
    device const T *from = x + group.y * args.x_stride + ulong(word) * per_word;
    float sum = 0;
    for (uint i = 0; i < per_word; i++) {
        float value = word < words ? float(from[i]) : 0.0f;
        turned[(to * per_word + i) * 32 + lane] = is_highest(i) ? value : ldexp(value, -int(i * bits));
        sum += value;
    }
    starts[to * 32 + lane] = -middle * sum;
}
INSTANTIATE_FLOATS(prepare)

// The rows that a SIMD-group takes together, and what it has of them.
struct rows_of_weights {
    device const uint *words[4];
    float scale[4], shift[4]; // of 32 groups; the biases by -1 / middle
    float total[4 * 8];       // by row and vector
};

// One line of all rows, of which this lane has a word, against all vectors. Scales come from lanes `owner`.
static void add_line(thread rows_of_weights &rows, device const float *turned, device const float *starts,
                     uint line, uint lines, uint words, uint owner, uint lane, bool has_word) {
    // after the end of these rows come those that the next SIMD-group takes
    const ulong soon = (line + LINES_AHEAD) * 32 + (line + LINES_AHEAD < lines ? 0 : (rows_at_once - 1) * ulong(words));
    float dots[4 * 8], start[8];
    uint word[4];
    for (uint v = 0; v < vectors; v++) {
        start[v] = starts[(ulong(v) * lines + line) * 32 + lane];
    }
    for (uint r = 0; r < rows_at_once; r++) {
        for (uint v = 0; v < vectors; v++) {
            dots[r * 8 + v] = has_biases ? 0.0f : start[v];
        }
        prefetch<32>(rows.words[r] + soon);
        word[r] = has_word ? rows.words[r][line * 32 + lane] : 0;
    }
    for (uint i = 0; i < per_word; i++) {
        const uint mask = ((1u << bits) - 1) << (i * bits);
        for (uint v = 0; v < vectors; v++) {
            const float x = turned[((ulong(v) * lines + line) * per_word + i) * 32 + lane];
            for (uint r = 0; r < rows_at_once; r++) {
                const float q = float(int(is_highest(i) ? word[r] >> (i * bits) : word[r] & mask));
                dots[r * 8 + v] = fma(q, x, dots[r * 8 + v]);
            }
        }
    }
    for (uint r = 0; r < rows_at_once; r++) {
        const float scale = simd_shuffle(rows.scale[r], ushort(owner));
        const float shift = has_biases ? simd_shuffle(rows.shift[r], ushort(owner)) : 0.0f;
        for (uint v = 0; v < vectors; v++) {
            const float before = rows.total[r * 8 + v];
            rows.total[r * 8 + v] =
                fma(scale, dots[r * 8 + v], has_biases ? fma(shift, start[v], before) : before);
        }
    }
}

template <typename T, typename S>
kernel void quantised_matvec(device const float *turned [[buffer(0)]],
                             device const float *starts [[buffer(1)]],
                             device const uint *packed [[buffer(2)]],
                             device const S *scales [[buffer(3)]],
                             device const S *biases [[buffer(4)]],
                             device const T *bias [[buffer(5)]],
                             device T *out [[buffer(6)]],
                             constant quantised_matvec_args &args [[buffer(7)]],
                             uint lane [[thread_index_in_simdgroup]],
                             uint simd [[simdgroup_index_in_threadgroup]],
                             uint simds [[simdgroups_per_threadgroup]],
                             uint group [[threadgroup_position_in_grid]]) {
    const uint first = (group * simds + simd) * rows_at_once;
    const uint words = args.columns / per_word, whole = words / 32, lines = (words + 31) / 32;
    const uint word_shift = args.group_shift + (bits == 4 ? 2 : 3); // a group is 1 << this words
    const uint groups = words >> word_shift;
    rows_of_weights rows;
    uint row[4];
    for (uint r = 0; r < rows_at_once; r++) {
        row[r] = min(first + r, args.rows - 1);
        rows.words[r] = packed + ulong(row[r]) * words;
    }
    for (uint i = 0; i < 4 * 8; i++) {
        rows.total[i] = 0;
    }
    for (uint first_group = 0, line = 0; first_group < groups; first_group += 32) {
        for (uint r = 0; r < rows_at_once; r++) {
            const ulong at = ulong(row[r]) * groups + first_group + lane;
            const bool mine = first_group + lane < groups;
            rows.scale[r] = mine ? float(scales[at]) : 0.0f;
            rows.shift[r] = has_biases && mine ? float(biases[at]) / -middle : 0.0f;
        }
        uint owner = lane >> word_shift;
        const uint end = line + (1u << word_shift);
        for (const uint last = min(end, whole); line < last; line++, owner += 32u >> word_shift) {
            add_line(rows, turned, starts, line, lines, words, owner, lane, true);
        }
        if (line < min(end, lines)) { // which is not whole
            add_line(rows, turned, starts, line, lines, words, owner, lane, line * 32 + lane < words);
        }
    }
    for (uint r = 0; r < rows_at_once; r++) {
        for (uint v = 0; v < vectors; v++) {
            float sum = simd_sum(rows.total[r * 8 + v]);
            if (lane == 0 && first + r < args.rows && v < args.vectors) {
                sum += args.has_bias ? float(bias[first + r]) : 0.0f;
                out[v * args.out_stride + first + r] = T(sum);
            }
        }
    }
}

// The same without `prepare`: a lane takes one word of the weights at a time.
template <typename T, typename S>
kernel void quantised_matvec_direct(device const T *x [[buffer(0)]],
                                    device const uint *packed [[buffer(1)]],
                                    device const S *scales [[buffer(2)]],
                                    device const S *biases [[buffer(3)]],
                                    device const T *bias [[buffer(4)]],
                                    device T *out [[buffer(5)]],
                                    constant quantised_matvec_args &args [[buffer(6)]],
                                    uint lane [[thread_index_in_simdgroup]],
                                    uint simd [[simdgroup_index_in_threadgroup]],
                                    uint simds [[simdgroups_per_threadgroup]],
                                    uint group [[threadgroup_position_in_grid]]) {
    const uint first = (group * simds + simd) * rows_at_once;
    const uint words = args.columns / per_word;
    const uint words_per_group = (32 << args.group_shift) / per_word;
    const uint groups = words / words_per_group;
    float total[32] = {0};
    for (uint word_at = lane; word_at < words; word_at += 32) {
        float values[8 * 8], sum[8];
        for (uint v = 0; v < vectors; v++) {
            device const T *from = x + v * args.x_stride + ulong(word_at) * per_word;
            sum[v] = 0;
            for (uint i = 0; i < per_word; i++) {
                values[v * 8 + i] = v < args.vectors ? float(from[i]) : 0.0f;
                sum[v] += values[v * 8 + i];
            }
        }
        for (uint r = 0; r < rows_at_once; r++) {
            const uint row = min(first + r, args.rows - 1);
            const uint word = packed[ulong(row) * words + word_at];
            const ulong at = ulong(row) * groups + word_at / words_per_group;
            const float scale = float(scales[at]);
            const float shift = has_biases ? float(biases[at]) : -middle * scale;
            for (uint v = 0; v < vectors; v++) {
                float dot = 0;
                for (uint i = 0; i < per_word; i++) {
                    float q = float(int((word >> (i * bits)) & ((1u << bits) - 1)));
                    dot = fma(q, values[v * 8 + i], dot);
                }
                total[r * 8 + v] += fma(scale, dot, shift * sum[v]);
            }
        }
    }
    for (uint r = 0; r < rows_at_once; r++) {
        for (uint v = 0; v < vectors; v++) {
            float sum = simd_sum(total[r * 8 + v]);
            if (lane == 0 && first + r < args.rows && v < args.vectors) {
                sum += args.has_bias ? float(bias[first + r]) : 0.0f;
                out[v * args.out_stride + first + r] = T(sum);
            }
        }
    }
}

#include "quantised_matvec/quantised_matvec_tiles.h"
#include "quantised_matvec/quantised_matvec_single.h"

#define INSTANTIATE_TILED(t, type, s, scale) \
    INSTANTIATE_KERNEL("quantised_matvec_tiles_" #t "_" #s, quantised_matvec_tiles<type, scale>) \
    INSTANTIATE_KERNEL("quantised_matvec_single_" #t "_" #s, quantised_matvec_single<type, scale>)
INSTANTIATE_TILED(f16, half, f32, float)
INSTANTIATE_TILED(bf16, bfloat, f32, float)
INSTANTIATE_TILED(f16, half, f16, half)
INSTANTIATE_TILED(bf16, bfloat, bf16, bfloat)

#define INSTANTIATE_SCALED(t, type, s, scale) \
    INSTANTIATE_KERNEL("quantised_matvec_" #t "_" #s, quantised_matvec<type, scale>) \
    INSTANTIATE_KERNEL("quantised_matvec_direct_" #t "_" #s, quantised_matvec_direct<type, scale>)
INSTANTIATE_SCALED(f32, float, f32, float)
INSTANTIATE_SCALED(f16, half, f32, float)
INSTANTIATE_SCALED(bf16, bfloat, f32, float)
INSTANTIATE_SCALED(f16, half, f16, half)
INSTANTIATE_SCALED(bf16, bfloat, bf16, bfloat)
