// Buffers are numbered from 0; Metal has 31 of them, ingot 64.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_buffer_index.metal:9:27: error: a kernel parameter must be numbered from 0 to 63
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(64)]]) { x[0] = 1; }
