// sum = x + residual, rounded to the type; out = rms_norm(sum). The second pass takes the sum from
// where the first left it: the cache, or the thread itself when it keeps KEEP blocks.
#include <metal_stdlib>
using namespace metal;
#include "add_rms_norm/add_rms_norm_args.h"
#include "common/instantiate.h"
#include "common/rms.h"

constant bool HAS_WEIGHT [[function_constant(2)]];

template <typename T, typename W, int KEEP, bool PART = false>
[[max_total_threads_per_threadgroup(row_most_threads<KEEP, PART, T, W>())]]
kernel void add_rms_norm(device const T *x [[buffer(0)]],
                         device const T *residual [[buffer(1)]],
                         device const W *weight [[buffer(2)]],
                         device T *sum [[buffer(3)]],
                         device T *out [[buffer(4)]],
                         device float *rstd_out [[buffer(5)]],
                         constant add_rms_norm_args &args [[buffer(6)]],
                         ROW_POSITIONS) {
    threadgroup float row_shared[32];
    ulong row = ROW_NUMBER;
    if (row >= args.rows) {
        return;
    }
    x += row * args.x_stride;
    residual += row * args.residual_stride;
    sum += row * args.sum_stride;
    out += row * args.out_stride;
    uint columns = args.columns, blocks = row_loop<KEEP>(columns), me = ROW_THREAD;
    vec<T, 4> kept[KEEP ? KEEP : 1], added[KEEP ? KEEP : 1];
    vec<W, 4> weights[KEEP ? KEEP : 1];
    if (KEEP) {
        row_fetch<KEEP>(x, columns, me, T(0), kept);
        row_fetch<KEEP>(residual, columns, me, T(0), added);
    }
    float4 squares = 0;
    for (uint b = 0; b < blocks; b++) {
        float4 v = KEEP ? float4(kept[b]) + float4(added[b])
                        : row_load(x, columns, b, me, 0) + row_load(residual, columns, b, me, 0);
        vec<T, 4> rounded = vec<T, 4>(v);
        v = float4(rounded);
        squares = fma(v, v, squares);
        if (KEEP) {
            kept[b] = rounded;
        } else {
            row_store(sum, columns, b, me, v);
        }
    }
    if (KEEP) {
        row_put<KEEP>(sum, columns, me, kept);
    }
    const bool ahead = row_ahead<KEEP, W>() && HAS_WEIGHT;
    if (ahead) {
        row_fetch<KEEP>(weight, columns, me, W(0), weights);
    }
    row_rms rms = find_rms<KEEP>(ROW_FIRST_SUM(sum4(squares)), (device const T *)sum, kept, columns,
                                 blocks, me, args.eps, row_shared, row_simd, row_lane);
    if (args.save_rstd && me == 0) {
        rstd_out[row] = rms.rstd * rms.scale;
    }
    for (uint b = 0; b < blocks; b++) {
        float4 v = KEEP ? float4(kept[b]) : row_load((device const T *)sum, columns, b, me, 0);
        v = sizeof(T) == 2 ? v * (rms.scale * rms.rstd) : v * rms.scale * rms.rstd;
        if (HAS_WEIGHT) {
            v *= ahead ? float4(weights[b]) : row_load(weight, columns, b, me, 0);
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

#define INSTANTIATE_ADD_RMS_NORM(types, ...)                                                       \
    INSTANTIATE_KERNEL("add_rms_norm_" types "_k0", add_rms_norm<__VA_ARGS__, 0>)                  \
    INSTANTIATE_KERNEL("add_rms_norm_" types "_k8", add_rms_norm<__VA_ARGS__, 8>) \
    INSTANTIATE_KERNEL("add_rms_norm_" types "_k4", add_rms_norm<__VA_ARGS__, 4>) \
    INSTANTIATE_KERNEL("add_rms_norm_" types "_k4_part", add_rms_norm<__VA_ARGS__, 4, true>) \
    INSTANTIATE_KERNEL("add_rms_norm_" types "_k8_part", add_rms_norm<__VA_ARGS__, 8, true>) 
INSTANTIATE_ADD_RMS_NORM("f32_f32", float, float)
INSTANTIATE_ADD_RMS_NORM("f16_f16", half, half)
INSTANTIATE_ADD_RMS_NORM("f16_f32", half, float)
INSTANTIATE_ADD_RMS_NORM("bf16_bf16", bfloat, bfloat)
INSTANTIATE_ADD_RMS_NORM("bf16_f32", bfloat, float)
