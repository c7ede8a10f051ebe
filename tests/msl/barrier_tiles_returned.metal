// Lanes keep their numbers in kernels with tiles, whatever order the hardware has them in.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[64] = 1
// DEVICE: !metal: there threads may miss a barrier
// EXPECT-STATUS: INGOT_BARRIER_ERROR
// EXPECT-ERROR: without its lanes 0-2, 12 (lanes 0xffffeff8 of 0xffffffff came)
#include <metal_simdgroup_matrix>
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], uint lane [[thread_index_in_simdgroup]]) {
    simdgroup_float8x8 a, c;
    simdgroup_load(a, x, 8);
    simdgroup_multiply(c, a, a);
    simdgroup_store(c, x, 8);
    if (lane < 3 || lane == 12)
        return;
    threadgroup_barrier(mem_flags::mem_device); // FINDS: barrier
    x[lane] = 0;
}
