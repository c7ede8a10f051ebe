// Where all lanes are together, a sum is a butterfly over all of them; under a condition that
// differs between lanes, over those for which a vote says that it holds: which lanes the hardware
// has at it together does not matter. Sums of integers are one instruction.
// WANT: shfl\.sync\.bfly\.b32.*-1;
// WANT: vote\.sync\.ballot\.b32
// NEVER: activemask
// WANT: redux\.sync\.add\.s32
// WANT: ld\.shared\.f32
// WANT: bar\.sync[[:space:]]+0
// WANT: red\.global\.add\.f32|atom\.global\.add\.f32
// NEVER: atom\.global\.cas
// NEVER: \.local
#include <metal_stdlib>
using namespace metal;

kernel void reduction(device const float *x, device float *out, device uint *count,
                      device atomic_float *total, uint i [[thread_position_in_grid]],
                      uint lane [[thread_index_in_simdgroup]],
                      uint simd [[simdgroup_index_in_threadgroup]],
                      uint simds [[simdgroups_per_threadgroup]]) {
    threadgroup float parts[32];
    float sum = simd_sum(x[i]);
    if (lane == 0)
        parts[simd] = sum;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum = simd_sum(lane < simds ? parts[lane] : 0.0f);
    if (x[i] > sum)
        out[i] = simd_sum(x[i]);
    count[i] = simd_sum(lane);
    if (lane == 0)
        atomic_fetch_add_explicit(total, sum, memory_order_relaxed);
}
