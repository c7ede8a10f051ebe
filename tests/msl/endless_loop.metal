// A kernel that never ends is stopped at its time limit, by name.
// RUN: kernel=forever threads=32 group=32 limit=0.3
// ARG 0: u32[1] = 1
// EXPECT-STATUS: INGOT_TIMEOUT
// EXPECT-ERROR: forever
#include <metal_stdlib>
using namespace metal;

kernel void forever(volatile device uint *x [[buffer(0)]]) {
    while (x[0] != 0)
        ;
}
