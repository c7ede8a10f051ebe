// math_mode(fast) and (relaxed) may join the two factors; math_mode(safe) may not.
// RUN: kernel=safe threads=1 group=1
// ARG 0: f32 [1e10]
// EXPECT 0: f32 [inf]
//
// RUN: kernel=relaxed threads=1 group=1
// ARG 0: f32 [1e10]
// EXPECT 0: f32 [1e10] ; rel=1e-6
//
// RUN: kernel=quick threads=1 group=1
// ARG 0: f32 [1e10]
// EXPECT 0: f32 [1e10] ; rel=1e-6
//
// RUN: kernel=standard threads=1 group=1
// ARG 0: f32 [1e10]
// EXPECT 0: f32 [inf]
//
// RUN: kernel=standard threads=1 group=1
// OPTIONS: fast-math
// ARG 0: f32 [1e10]
// EXPECT 0: f32 [1e10] ; rel=1e-6
#include <metal_stdlib>
using namespace metal;

kernel void standard(device float *x [[buffer(0)]]) { x[0] = (x[0] * 1e30f) * 1e-30f; }
#pragma METAL fp math_mode(relaxed)
kernel void relaxed(device float *x [[buffer(0)]]) { x[0] = (x[0] * 1e30f) * 1e-30f; }
#pragma METAL fp math_mode(safe)
kernel void safe(device float *x [[buffer(0)]]) { x[0] = (x[0] * 1e30f) * 1e-30f; }
#pragma METAL fp math_mode(fast)
kernel void quick(device float *x [[buffer(0)]]) { x[0] = (x[0] * 1e30f) * 1e-30f; }
