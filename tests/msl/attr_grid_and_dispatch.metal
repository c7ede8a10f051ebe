// The origin and size of the grid, and how many groups of lanes a full threadgroup has.
// RUN: kernel=k threads=80 group=64
// ARG 0: u32[8]
// EXPECT 0: u32 [0 80 2 32 16 1 4 80]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *out [[buffer(0)]], uint i [[thread_position_in_grid]], uint origin [[grid_origin]],
              uint size [[grid_size]], uint full [[dispatch_simdgroups_per_threadgroup]],
              uint width [[thread_execution_width]], uint quads [[dispatch_quadgroups_per_threadgroup]],
              uint simdgroups [[simdgroups_per_threadgroup]], uint own_quads [[quadgroups_per_threadgroup]],
              uint threads [[threads_per_grid]]) {
    if (i == 64) { // in the partial group of 16 threads
        out[0] = origin;
        out[1] = size;
        out[2] = full;
        out[3] = width;
        out[4] = quads;
        out[5] = simdgroups;
        out[6] = own_quads;
        out[7] = threads;
    }
}
