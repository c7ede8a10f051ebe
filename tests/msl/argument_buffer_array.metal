// An array of pointers, indexed by the thread, written through.
// RUN: kernel=k threads=6 group=6
// ARG 0: bytes = addr:20 addr:21
// ARG 20: i32[3]
// ARG 21: i32[3]
// EXPECT 20: i32 [0 2 4]
// EXPECT 21: i32 [1 3 5]
#include <metal_stdlib>
using namespace metal;

struct Args {
    device int *rows[2];
};
kernel void k(constant Args &args [[buffer(0)]], uint i [[thread_position_in_grid]]) { args.rows[i % 2][i / 2] = i; }
