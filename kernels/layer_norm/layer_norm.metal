// layer_norm over the last dimension, and its backward.
//
// Statistics in two passes: the mean, then the squares of the deviations from it. The mean is a
// float and so off by a rounding; the second pass sums the deviations too, and what is left of
// them is the mean's error, which is taken out of the variance and of the result. Deviations are
// nearly exact however far the mean is from 0. A row is read three times, twice from the cache, or
// once when KEEP blocks of it stay with the thread.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "common/rows.h"
#include "layer_norm/layer_norm_args.h"

constant bool HAS_WEIGHT [[function_constant(2)]];
constant bool X_STAYS [[function_constant(3)]]; // in caches: see memory_hints.h

struct statistics {
    float mean, error; // the mean is their sum
    float rstd;
};

inline statistics finish_statistics(float mean, float drift, float squares, uint columns,
                                    float eps) {
    float error = mean_of(drift, columns);
    float variance = fma(-error, error, mean_of(squares, columns));
    return {mean, error, inverse_root(max(variance, 0.0f) + eps)};
}

template <typename T, typename W, int KEEP, bool PART = false>
[[max_total_threads_per_threadgroup(row_most_threads<KEEP, PART, T, float>())]]
kernel void layer_norm(device const T *x [[buffer(0)]],
                       device const W *weight [[buffer(1)]],
                       device const W *bias [[buffer(2)]],
                       device T *out [[buffer(3)]],
                       device float *mean_out [[buffer(4)]],
                       device float *rstd_out [[buffer(5)]],
                       constant layer_norm_args &args [[buffer(6)]],
                       ROW_POSITIONS) {
    // Deviations from the mean of the first eight elements, which are a part of the variance: it so
    // loses no more than a factor of the row's length, which 16-bit results do not notice.
    constexpr bool ONE_PASS = KEEP && sizeof(T) == 2 && !PART;
    threads_at_once(ROW_EIGHT && sizeof(W) == 2 ? ROW_EIGHT_THREADS_AT_ONCE : 0);
    whole_simdgroups();
    threadgroup float row_shared[32];
    threadgroup float2 row_pairs[32];
    ulong row = ROW_NUMBER;
    if (row >= args.rows) {
        return;
    }
    x += row * args.x_stride;
    out += row * args.out_stride;
    uint columns = args.columns, blocks = row_loop<KEEP>(columns), me = ROW_THREAD;
    vec<T, 4> kept[KEEP ? KEEP : 1];
    vec<W, 4> weights[KEEP ? KEEP : 1], biases[KEEP ? KEEP : 1];
    if (KEEP) {
        row_fetch<KEEP>(X_STAYS ? evict_last(x) : x, columns, me, T(0), kept);
    }
    const bool eights = KEEP && ROW_EIGHT && HAS_WEIGHT && sizeof(W) == 2;
    float mean;
    if constexpr (ONE_PASS) {
        uint4 eight = *(device const uint4 *)x;
        float4 both = float4(as_type<vec<T, 4>>(eight.xy));
        both += float4(as_type<vec<T, 4>>(eight.zw));
        mean = sum4(both) * 0.125f;
    } else {
        float4 sum = 0;
        for (uint b = 0; b < blocks; b++) {
            sum += KEEP ? float4(kept[b]) : row_load(x, columns, b, me, 0);
        }
        mean = mean_of(ROW_FIRST_SUM(sum4(sum)), columns);
    }
    float4 drift = 0, squares = 0;
    for (uint b = 0; b < blocks; b++) {
        float4 v = !KEEP      ? row_load(x, columns, b, me, mean)
                              : row_inside(float4(kept[b]), columns, b, me, mean);
        float4 d = v - mean;
        drift += d;
        squares = fma(d, d, squares);
    }
    float2 sums = sums_over(ROW_SIMDS, float2(sum4(drift), sum4(squares)), row_pairs, row_simd,
                            row_lane);
    statistics s = finish_statistics(mean, sums.x, sums.y, columns, args.eps);
    const float shift = -s.error * s.rstd;
    if (me == 0) {
        if (args.save_mean) {
            float saved = s.mean + s.error;
            if constexpr (ONE_PASS) { // the error may be a deviation: its own rounding counts
                saved += mean_of(fma(-s.error, float(columns), sums.x), columns);
            }
            mean_out[row] = saved;
        }
        if (args.save_rstd) {
            rstd_out[row] = s.rstd;
        }
    }
    for (uint b = 0; b < blocks; b++) {
        float4 v = KEEP ? float4(kept[b]) : row_load(x, columns, b, me, 0);
        v = fma(v - s.mean, float4(s.rstd), float4(shift));
        if (eights && b % 2 == 0) {
            row_fetch_eight(weight, b, me, weights);
            biases[b] = biases[b + 1] = W(0);
            if (args.has_bias) {
                row_fetch_eight(bias, b, me, biases);
            }
        }
        if (eights) {
            v = fma(v, float4(weights[b]), float4(biases[b]));
        } else {
            if (HAS_WEIGHT) {
                v *= row_load(weight, columns, b, me, 0);
            }
            if (args.has_bias) {
                v += row_load(bias, columns, b, me, 0);
            }
        }
        if (KEEP) {
            kept[b] = vec<T, 4>(v);
        } else {
            row_store(out, columns, b, me, v, args.past_caches);
        }
    }
    if (KEEP) {
        row_put<KEEP>(out, columns, me, kept);
    }
}

// With g = dy * weight and n the normalised x: dx = rstd * (g - mean(g) - n * mean(g * n));
// dweight and dbias are the sums of dy * n and dy over the rows, first over those of a part.
template <typename T, typename W>
kernel void layer_norm_backward(device const T *x [[buffer(0)]],
                                device const W *weight [[buffer(1)]],
                                device const T *dy [[buffer(2)]],
                                device const float *mean_in [[buffer(3)]],
                                device const float *rstd_in [[buffer(4)]],
                                device T *dx [[buffer(5)]],
                                device float *weight_sums [[buffer(6)]],
                                device float *bias_sums [[buffer(7)]],
                                constant layer_norm_backward_args &args [[buffer(8)]],
                                ROW_POSITIONS) {
    threadgroup float row_shared[32];
    ulong part = ROW_NUMBER, first = part * args.part, end = min(first + args.part, args.rows);
    uint columns = args.columns, blocks = row_blocks(columns), me = ROW_THREAD;
    weight_sums += part * columns;
    bias_sums += part * columns;
    for (ulong row = first; row < end; row++) {
        device const T *xs = x + row * args.x_stride, *dys = dy + row * args.dy_stride;
        statistics s;
        if (args.has_statistics) {
            s = {mean_in[row], 0, rstd_in[row]};
        } else {
            float4 sum = 0, drift = 0, squares = 0;
            for (uint b = 0; b < blocks; b++) {
                sum += row_load(xs, columns, b, me, 0);
            }
            float mean = ROW_SUM(sum4(sum)) / columns;
            for (uint b = 0; b < blocks; b++) {
                float4 d = row_load(xs, columns, b, me, mean) - mean;
                drift += d;
                squares = fma(d, d, squares);
            }
            float drifts = ROW_SUM(sum4(drift));
            s = finish_statistics(mean, drifts, ROW_SUM(sum4(squares)), columns, args.eps);
        }
        float4 sums = 0, products = 0;
        for (uint b = 0; b < blocks; b++) {
            float4 n = ((row_load(xs, columns, b, me, 0) - s.mean) - s.error) * s.rstd;
            float4 g = row_load(dys, columns, b, me, 0);
            if (HAS_WEIGHT) {
                g *= row_load(weight, columns, b, me, 0);
            }
            sums += g;
            products = fma(n, g, products);
        }
        float mean_g = ROW_SUM(sum4(sums)) / columns, mean_gn = ROW_SUM(sum4(products)) / columns;
        device T *dxs = dx + row * args.dx_stride;
        for (uint b = 0; b < blocks; b++) {
            float4 n = ((row_load(xs, columns, b, me, 0) - s.mean) - s.error) * s.rstd;
            float4 d = row_load(dys, columns, b, me, 0), g = d;
            if (HAS_WEIGHT) {
                g *= row_load(weight, columns, b, me, 0);
            }
            row_store(dxs, columns, b, me, s.rstd * fma(n, -mean_gn, g - mean_g),
                      args.past_caches);
            if (args.sum_weight) {
                row_accumulate(weight_sums, columns, b, me, d * n, row == first);
            }
            if (args.sum_bias) {
                row_accumulate(bias_sums, columns, b, me, d, row == first);
            }
        }
    }
}

#define INSTANTIATE_LAYER_NORM(types, ...)                                                         \
    INSTANTIATE_KERNEL("layer_norm_" types "_k0", layer_norm<__VA_ARGS__, 0>)                      \
    INSTANTIATE_KERNEL("layer_norm_" types "_k8", layer_norm<__VA_ARGS__, 8>) \
    INSTANTIATE_KERNEL("layer_norm_" types "_k8_part", layer_norm<__VA_ARGS__, 8, true>) \
    INSTANTIATE_KERNEL("layer_norm_backward_" types, layer_norm_backward<__VA_ARGS__>)
INSTANTIATE_LAYER_NORM("f32_f32", float, float)
INSTANTIATE_LAYER_NORM("f16_f16", half, half)
INSTANTIATE_LAYER_NORM("f16_f32", half, float)
INSTANTIATE_LAYER_NORM("bf16_bf16", bfloat, bfloat)
INSTANTIATE_LAYER_NORM("bf16_f32", bfloat, float)
INSTANTIATE_FLOATS(row_parts)
