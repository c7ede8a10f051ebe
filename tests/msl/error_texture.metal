// Textures are refused by a sentence that says so.
// RUN: kernel=k threads=1 group=1
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: texture
#include <metal_stdlib>
using namespace metal;

kernel void k(texture2d<float> t [[texture(0)]], device float *x [[buffer(0)]]) { x[0] = 1; }
