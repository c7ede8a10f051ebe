// Where some threads may miss a barrier, all barriers count who comes.
// WANT: barrier\.red\.popc\.u32
// WANT: \.visible \.global \.align 16 \.b8 ingot_failure\[40\]
// NEVER: bar\.sync
// NEVER: barrier\.sync
// NEVER: trap
#include <metal_stdlib>
using namespace metal;

kernel void missed(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                   uint t [[thread_index_in_threadgroup]], uint simd [[simdgroup_index_in_threadgroup]]) {
    threadgroup float shared[1024];
    shared[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    float v = shared[t ^ 33];
    if (x[simd] > 0) {
        shared[t] = v;
        threadgroup_barrier(mem_flags::mem_threadgroup);
        v = shared[t ^ 65];
    }
    out[t] = v;
}
