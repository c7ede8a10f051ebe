// RUN: kernel=forever threads=64 group=64 limit=0.3
// ARG 0: u32[1] = 1
// EXPECT-STATUS: INGOT_TIMEOUT
// EXPECT-ERROR: forever
#include <metal_stdlib>
using namespace metal;

kernel void forever(volatile device uint *x [[buffer(0)]]) {
    while (x[0] != 0)
        threadgroup_barrier(mem_flags::mem_device);
}
