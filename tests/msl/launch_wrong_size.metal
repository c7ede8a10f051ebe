// A value of the wrong size: both sizes are in the message.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// ARG 1: i64 = 5
// DEVICE: !metal: reflection does not tell a reference from a pointer
// EXPECT-STATUS: INGOT_LAUNCH_ERROR
// EXPECT-ERROR: count
// EXPECT-ERROR: 8
// EXPECT-ERROR: 4
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]], constant int &count [[buffer(1)]]) { x[0] = count; }
