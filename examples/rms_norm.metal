// RMS normalisation of rows, for float, half and bfloat by a template. Whether there is a weight
// is a function constant: without it, the kernel does not even have the argument.
#include <metal_stdlib>
using namespace metal;

constant bool has_weight [[function_constant(0)]];

template <typename T>
[[kernel]] void rms_norm(device const T *input [[buffer(0)]],
                         device T *output [[buffer(1)]],
                         constant uint &columns [[buffer(2)]],
                         constant float &epsilon [[buffer(3)]],
                         device const T *weight [[buffer(4), function_constant(has_weight)]],
                         uint row [[threadgroup_position_in_grid]],
                         uint thread_index [[thread_index_in_threadgroup]],
                         uint threads [[threads_per_threadgroup]],
                         uint lane [[thread_index_in_simdgroup]],
                         uint simdgroup [[simdgroup_index_in_threadgroup]],
                         uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float shared_sum[32];
    device const T *x = input + ulong(row) * columns;
    device T *y = output + ulong(row) * columns;

    float sum = 0;
    for (uint c = thread_index; c < columns; c += threads) {
        float v = float(x[c]);
        sum += v * v;
    }
    sum = simd_sum(sum);
    if (lane == 0)
        shared_sum[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < simdgroups ? shared_sum[lane] : 0.0f);

    float scale = rsqrt(sum / float(columns) + epsilon);
    for (uint c = thread_index; c < columns; c += threads) {
        float v = float(x[c]) * scale;
        if (has_weight)
            v *= float(weight[c]);
        y[c] = T(v);
    }
}

#define INSTANTIATE(type, name)                                                                    \
    template [[host_name(name)]] [[kernel]] void rms_norm<type>(                                   \
        device const type *, device type *, constant uint &, constant float &, device const type *, \
        uint, uint, uint, uint, uint, uint);

INSTANTIATE(float, "rms_norm_float")
INSTANTIATE(half, "rms_norm_half")
INSTANTIATE(bfloat, "rms_norm_bfloat")
