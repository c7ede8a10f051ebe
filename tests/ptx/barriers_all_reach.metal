// Barriers that all threads of a threadgroup reach are the hardware's own, whatever the positions, arguments
// and lengths of loops are that decide about them, if these are the same for all.
// WANT: bar\.sync[[:space:]]+0
// NEVER: barrier
// NEVER: ingot_failure
// NEVER: vote
#include <metal_stdlib>
using namespace metal;

kernel void all_reach(device const float *x [[buffer(0)]], device float *out [[buffer(1)]],
                      constant uint &rounds [[buffer(2)]], constant uint *limits [[buffer(3)]],
                      uint group [[threadgroup_position_in_grid]], uint t [[thread_index_in_threadgroup]],
                      uint n [[threads_per_threadgroup]]) {
    threadgroup float shared[1024];
    if (group >= limits[0])
        return;
    float sum = 0;
    for (uint round = 0; round < rounds; round++) {
        if (t < n / 2)
            shared[t] = x[round * n + t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        sum += shared[(t + 1) % (n / 2)];
        if (limits[group] == round)
            break;
        threadgroup_barrier(mem_flags::mem_threadgroup);
    }
    out[t] = sum;
}
