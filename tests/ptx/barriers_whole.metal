// A total that all SIMD-groups reduce alike may decide about a barrier where they are promised to be whole.
// WANT: bar\.sync[[:space:]]+0
// NEVER: barrier
// NEVER: ingot_failure
#include <metal_stdlib>
using namespace metal;

kernel void whole(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                  uint t [[thread_index_in_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]],
                  uint simds [[simdgroups_per_threadgroup]], uint lane [[thread_index_in_simdgroup]]) {
    threadgroup float shared[32];
    __ingot_whole_simdgroups();
    float sum = simd_sum(x[t]);
    if (lane == 0)
        shared[simd] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float total = simd_sum(lane < simds ? shared[lane] : 0.0f);
    if (total > 1) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        if (lane == 0)
            shared[simd] = sum / total;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum = shared[(simd + 1) % simds];
    }
    out[t] = sum;
}
