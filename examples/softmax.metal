// Softmax of each row of a matrix, one threadgroup per row. Every SIMD-group reduces its share
// with simd_max and simd_sum; threadgroup memory joins the SIMD-groups.
#include <metal_stdlib>
using namespace metal;

kernel void softmax(device const float *input [[buffer(0)]],
                    device float *output [[buffer(1)]],
                    constant uint &columns [[buffer(2)]],
                    uint row [[threadgroup_position_in_grid]],
                    uint thread_index [[thread_index_in_threadgroup]],
                    uint threads [[threads_per_threadgroup]],
                    uint lane [[thread_index_in_simdgroup]],
                    uint simdgroup [[simdgroup_index_in_threadgroup]],
                    uint simdgroups [[simdgroups_per_threadgroup]]) {
    threadgroup float shared_max[32];
    threadgroup float shared_sum[32];
    device const float *x = input + ulong(row) * columns;
    device float *y = output + ulong(row) * columns;

    float largest = -INFINITY;
    for (uint c = thread_index; c < columns; c += threads)
        largest = max(largest, x[c]);
    largest = simd_max(largest);
    if (lane == 0)
        shared_max[simdgroup] = largest;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    largest = simd_max(lane < simdgroups ? shared_max[lane] : -INFINITY);

    float sum = 0;
    for (uint c = thread_index; c < columns; c += threads) {
        float e = exp(x[c] - largest);
        y[c] = e;
        sum += e;
    }
    sum = simd_sum(sum);
    if (lane == 0)
        shared_sum[simdgroup] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < simdgroups ? shared_sum[lane] : 0.0f);

    float scale = 1.0f / sum;
    for (uint c = thread_index; c < columns; c += threads)
        y[c] *= scale;
}
