// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT 0: i32 [1]
#include <metal_stdlib>
using namespace metal;

static_assert(sizeof(half) == 2, "half has two bytes");
static_assert(sizeof(size_t) == 8 && sizeof(long) == 8 && sizeof(int) == 4, "sizes");
kernel void k(device int *x [[buffer(0)]]) { x[0] = 1; }
