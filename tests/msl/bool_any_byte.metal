// A bool in memory is true unless its byte is 0, in every use.
// RUN: kernel=k threads=256 group=64
// ARG 0: u8[256] = i
// ARG 1: i32[256]
// EXPECT 1: i32[256] = (i > 0) * (1 + 2 + 8 + 16 + 64) + (i < 1) * 4 + (i > 0) * 128
#include <metal_stdlib>
using namespace metal;

kernel void k(const device bool *in [[buffer(0)]], device int *out [[buffer(1)]],
              uint i [[thread_position_in_grid]]) {
    bool b = in[i], yes = in[1];
    out[i] = (b ? 1 : 0) + int(b) * 2 + int(!b) * 4 + int(b && yes) * 8 + int(b == yes) * 16 + int(in[i] & yes) * 64 +
             int(in[i]) * 128;
}
