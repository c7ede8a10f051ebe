// A message may have words that clang's own begin with: its place and its text stay what they are.
// RUN: kernel=k threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_words_in_message.metal:8:62: error: static assertion failed: oh: fatal error: no: note: really
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) { static_assert(false, "oh: fatal error: no: note: really"); x[0] = 1; }
