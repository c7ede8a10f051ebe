// A struct of device pointers in the constant space.
// RUN: kernel=k threads=4 group=4
// ARG 0: bytes = addr:20 addr:21 u32:3 pad:4
// ARG 1: f32[4]
// ARG 20: f32 [1 2 3 4]
// ARG 21: f32 [10 20 30 40]
// EXPECT 1: f32 [13 26 39 52]
#include <metal_stdlib>
using namespace metal;

struct Args {
    device const float *a [[id(0)]];
    device const float *b [[id(1)]];
    uint scale [[id(2)]];
};
kernel void k(constant Args &args [[buffer(0)]], device float *out [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    out[i] = args.a[i] * args.scale + args.b[i];
}
