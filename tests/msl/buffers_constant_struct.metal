// A struct by constant reference, laid out as C does it.
// RUN: kernel=k threads=3 group=3
// ARG 0: f32[3]
// ARG 1: bytes = i32:3 f32:0.5 i64:1000000000000 u8:7 pad:7
// EXPECT 0: f32 [3 0.5 7]
// RUN: kernel=big threads=1 group=1
// ARG 0: i64[1]
// ARG 1: bytes = i32:3 f32:0.5 i64:1000000000000 u8:7 pad:7
// EXPECT 0: i64 [1000000000001]
#include <metal_stdlib>
using namespace metal;

struct Params {
    int n;
    float f;
    long big;
    uchar tag;
};
kernel void k(device float *x [[buffer(0)]], constant Params &p [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    x[i] = i == 0 ? float(p.n) : i == 1 ? p.f : float(p.tag);
}
kernel void big(device long *x [[buffer(0)]], constant Params &p [[buffer(1)]]) { x[0] = p.big + 1; }
