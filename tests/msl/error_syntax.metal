// A syntax error names file, line and column.
// RUN: kernel=k threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error_syntax.metal:10:
// EXPECT-ERROR: expected ';'
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *x [[buffer(0)]]) {
    x[0] = 1
}
