// out[v] = W x[v] for weights of 4 or 8 bits and up to 8 vectors.
//
// A lane takes blocks of 32 consecutive weights: 4 or 8 words, one scale. So a SIMD-group takes 1024
// weights of a row at a time, scales and words lie side by side across the lanes, and a dot
// product of a block is
//     scale * sum(x q) + bias * sum(x)
// with sum(x) known beforehand. The elements of x that lanes need together are 32 apart: `prepare`
// turns x around once, so that they are neighbours, and adds up the blocks. Where a launch costs more
// than the strided reads, the `direct` kernel gives each lane one word instead.
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "quantised_matvec/quantised_matvec_args.h"

constant uint bits [[function_constant(0)]];
constant bool has_biases [[function_constant(1)]];
constant uint vectors [[function_constant(2)]]; // room for: 1, 2, 4 or 8
constant uint rows_at_once [[function_constant(3)]];

constant uint words_per_block = bits;
constant uint per_word = 32 / bits;
constant float middle = float(1u << (bits - 1));

// A number that stands at bit b of a word is (word & mask) = q * 2^b: x takes the 2^-b, which is
// exact, and no shift is needed. Only the highest one would be a negative integer, and is shifted.
static bool is_highest(uint place) {
    return place == per_word - 1;
}

// turned: per vector, for each 1024 elements of x: 32 rows of 32, element (j, lane) being x[lane * 32 + j]
// by 2^-b; zeros past the end. sums: per vector and block of 32, of x itself.
template <typename T>
kernel void prepare(device const T *x [[buffer(0)]],
                    device float *turned [[buffer(1)]],
                    device float *sums [[buffer(2)]],
                    constant quantised_matvec_args &args [[buffer(3)]],
                    uint2 group [[threadgroup_position_in_grid]],
                    uint lane [[thread_index_in_simdgroup]]) {
    const uint blocks = args.columns / 32;
    const uint tiles = (blocks + 31) / 32;
    const uint block = group.x * 32 + lane;
    device const T *from = x + group.y * args.x_stride + ulong(block) * 32;
    device float *to = turned + (ulong(group.y) * tiles + group.x) * 1024 + lane;
    float sum = 0;
    for (uint j = 0; j < 32; j++) {
        float value = block < blocks ? float(from[j]) : 0.0f;
        const uint place = j % per_word;
        to[j * 32] = is_highest(place) ? value : ldexp(value, -int(place * bits));
        sum += value;
    }
    sums[(ulong(group.y) * tiles + group.x) * 32 + lane] = sum;
}
INSTANTIATE_FLOATS(prepare)

// One block of one row against all vectors: dots[v] += sum over the block of x q.
static void add_block(device const uint *words, device const float *turned, ulong vector_stride,
                      uint lane, thread float *dots) {
    for (uint w = 0; w < words_per_block; w++) {
        uint word = words[w];
        for (uint i = 0; i < per_word; i++) {
            const uint mask = ((1u << bits) - 1) << (i * bits);
            float q = float(int(is_highest(i) ? word >> (i * bits) : word & mask));
            for (uint v = 0; v < vectors; v++) {
                dots[v] = fma(q, turned[v * vector_stride + (w * per_word + i) * 32 + lane], dots[v]);
            }
        }
    }
}

template <typename T, typename S>
kernel void quantised_matvec(device const float *turned [[buffer(0)]],
                             device const float *sums [[buffer(1)]],
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
    const uint blocks = args.columns / 32;
    const uint tiles = (blocks + 31) / 32;
    const uint groups = blocks >> args.group_shift;
    const ulong row_words = ulong(blocks) * words_per_block;
    float total[32] = {0};
    for (uint tile = 0; tile < tiles; tile++) {
        const uint block = tile * 32 + lane;
        device const float *x = turned + ulong(tile) * 1024;
        if (block < blocks) {
            for (uint r = 0; r < rows_at_once; r++) {
                const uint row = min(first + r, args.rows - 1);
                float dots[8] = {0};
                add_block(packed + row * row_words + block * words_per_block, x, ulong(tiles) * 1024, lane,
                          dots);
                const ulong at = ulong(row) * groups + (block >> args.group_shift);
                const float scale = float(scales[at]);
                const float shift = has_biases ? float(biases[at]) : -middle * scale;
                for (uint v = 0; v < vectors; v++) {
                    total[r * 8 + v] += fma(scale, dots[v], shift * sums[(v * tiles + tile) * 32 + lane]);
                }
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

#define INSTANTIATE_TILED(t, type, s, scale) \
    INSTANTIATE_KERNEL("quantised_matvec_tiles_" #t "_" #s, quantised_matvec_tiles<type, scale>)
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
