// Private memory that no stack has room for is refused before anything runs, with its size.
// RUN: kernel=huge threads=8 group=8
// ARG 0: f32[8]
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: 19200
// WITHOUT-CHECKS: variables have shadows beside them, and the sum is another
// DEVICE: cpu: GPUs have limits of their own
// RUN: kernel=large threads=8 group=8
// ARG 0: f32[8]
// EXPECT 0: f32[8] = 3 * i
// DEVICE: cpu: GPUs have limits of their own
#include <metal_stdlib>
using namespace metal;

kernel void huge(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float x[150000000];
    for (uint k = 0; k < 150000000u; k += 1000)
        x[(k + i) % 150000000u] = k;
    out[i] = x[(i * 77777) % 150000000u];
}
// 1.6 MB a thread; the frame is walked page by page
kernel void large(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float x[400000];
    for (uint k = 0; k < 400; k++)
        x[(k * 1000 + i) % 400000u] = k * i;
    out[i] = x[(3000 + i) % 400000u];
}
