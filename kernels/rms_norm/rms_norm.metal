// rms_norm over the last dimension, and its backward. A row is read twice, the second time from
// the cache, or once when KEEP blocks of it stay with the thread.
#include <metal_stdlib>
using namespace metal;
#include "common/instantiate.h"
#include "common/rms.h"
#include "rms_norm/rms_norm_args.h"

constant bool HAS_WEIGHT [[function_constant(2)]];
constant bool X_STAYS [[function_constant(3)]]; // in caches: see memory_hints.h

template <typename T, typename W, int KEEP, bool PART = false>
[[max_total_threads_per_threadgroup(row_most_threads<KEEP, PART, T, W>())]]
kernel void rms_norm(device const T *x [[buffer(0)]],
                     device const W *weight [[buffer(1)]],
                     device T *out [[buffer(2)]],
                     device float *rstd_out [[buffer(3)]],
                     constant rms_norm_args &args [[buffer(4)]],
                     ROW_POSITIONS) {
    threads_at_once(KEEP == 4 && sizeof(T) == 2 ? ROW_THREADS_AT_ONCE : 0);
    threadgroup float row_shared[32];
    ulong row = ROW_NUMBER;
    if (row >= args.rows) {
        return;
    }
    x += row * args.x_stride;
    out += row * args.out_stride;
    uint columns = args.columns, blocks = row_loop<KEEP>(columns), me = ROW_THREAD;
    vec<T, 4> kept[KEEP ? KEEP : 1];
    vec<W, 4> weights[KEEP ? KEEP : 1];
    if (KEEP) {
        row_fetch<KEEP>(X_STAYS ? evict_last(x) : x, columns, me, T(0), kept);
    }
    const bool ahead = KEEP > 4 && row_ahead<KEEP, W>() && HAS_WEIGHT;
    const bool eights = KEEP == 4 && ROW_EIGHT && HAS_WEIGHT && sizeof(W) == 2;
    if (ahead) {
        row_fetch<KEEP>(weight, columns, me, W(0), weights);
    }
    float4 squares = 0;
    for (uint b = 0; b < blocks; b++) {
        float4 v = KEEP ? float4(kept[b]) : row_load(x, columns, b, me, 0);
        squares = fma(v, v, squares);
    }
    row_rms rms = find_rms<KEEP>(ROW_FIRST_SUM(sum4(squares)), x, kept, columns, blocks, me, args.eps,
                                 row_shared, row_simd, row_lane);
    if (args.save_rstd && me == 0) {
        rstd_out[row] = rms.rstd * rms.scale;
    }
    for (uint b = 0; b < blocks; b++) {
        float4 v = KEEP ? float4(kept[b]) : row_load(x, columns, b, me, 0);
        v = sizeof(T) == 2 ? v * (rms.scale * rms.rstd) : v * rms.scale * rms.rstd;
        if (eights && b % 2 == 0) {
            row_fetch_eight(weight, b, me, weights);
        }
        if (HAS_WEIGHT) {
            v *= ahead || eights ? float4(weights[b]) : row_load(weight, columns, b, me, 0);
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

// With g = dy * weight and n = x * rstd: dx = rstd * (g - n * mean(g * n)) + add, and dweight is
// the sum of dy * n over the rows. A SIMD-group (or ROW_SIMDS of them) does the rows of one part
// and leaves their sum in `partial`, a row of it for each part.
template <typename T, typename W>
kernel void rms_norm_backward(device const T *x [[buffer(0)]],
                              device const W *weight [[buffer(1)]],
                              device const T *dy [[buffer(2)]],
                              device const float *rstd_in [[buffer(3)]],
                              device const T *add [[buffer(4)]],
                              device T *dx [[buffer(5)]],
                              device float *partial [[buffer(6)]],
                              constant rms_norm_backward_args &args [[buffer(7)]],
                              ROW_POSITIONS) {
    threadgroup float row_shared[32];
    ulong part = ROW_NUMBER, first = part * args.part, end = min(first + args.part, args.rows);
    uint columns = args.columns, blocks = row_blocks(columns), me = ROW_THREAD;
    partial += part * columns;
    for (ulong row = first; row < end; row++) {
        device const T *xs = x + row * args.x_stride, *dys = dy + row * args.dy_stride;
        float4 squares = 0, products = 0;
        for (uint b = 0; b < blocks; b++) {
            float4 v = row_load(xs, columns, b, me, 0), g = row_load(dys, columns, b, me, 0);
            if (HAS_WEIGHT) {
                g *= row_load(weight, columns, b, me, 0);
            }
            squares = fma(v, v, squares);
            products = fma(v, g, products);
        }
        float rstd;
        if (args.has_rstd) {
            rstd = rstd_in[row];
        } else {
            rstd = rsqrt(ROW_SUM(sum4(squares)) / columns + args.eps);
        }
        float mean = ROW_SUM(sum4(products)) * rstd / columns;
        device T *dxs = dx + row * args.dx_stride;
        for (uint b = 0; b < blocks; b++) {
            float4 n = row_load(xs, columns, b, me, 0) * rstd;
            float4 d = row_load(dys, columns, b, me, 0), g = d;
            if (HAS_WEIGHT) {
                g *= row_load(weight, columns, b, me, 0);
            }
            g = rstd * fma(n, -mean, g);
            if (args.has_add) {
                g += row_load(add + row * args.add_stride, columns, b, me, 0);
            }
            row_store(dxs, columns, b, me, g, args.past_caches);
            if (args.sum_weight) {
                row_accumulate(partial, columns, b, me, d * n, row == first);
            }
        }
    }
}

#define INSTANTIATE_RMS_NORM(types, ...)                                                           \
    INSTANTIATE_KERNEL("rms_norm_" types "_k0", rms_norm<__VA_ARGS__, 0>)                          \
    INSTANTIATE_KERNEL("rms_norm_" types "_k8", rms_norm<__VA_ARGS__, 8>) \
    INSTANTIATE_KERNEL("rms_norm_" types "_k4", rms_norm<__VA_ARGS__, 4>) \
    INSTANTIATE_KERNEL("rms_norm_" types "_k4_part", rms_norm<__VA_ARGS__, 4, true>) \
    INSTANTIATE_KERNEL("rms_norm_" types "_k8_part", rms_norm<__VA_ARGS__, 8, true>) \
    INSTANTIATE_KERNEL("rms_norm_backward_" types, rms_norm_backward<__VA_ARGS__>)
INSTANTIATE_RMS_NORM("f32_f32", float, float)
INSTANTIATE_RMS_NORM("f16_f16", half, half)
INSTANTIATE_RMS_NORM("f16_f32", half, float)
INSTANTIATE_RMS_NORM("bf16_bf16", bfloat, bfloat)
INSTANTIATE_RMS_NORM("bf16_f32", bfloat, float)
INSTANTIATE_FLOATS(row_parts)
