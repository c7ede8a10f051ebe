// numeric_limits of a vector: those of its components.
// RUN: kernel=limits threads=1
// ARG 0: f32[6]
// EXPECT 0: f32 [65504 -65504 255 -32768 1 1]
#include <metal_stdlib>
using namespace metal;

template <typename T> T least(T) {
    return numeric_limits<T>::max();
}
kernel void limits(device float *out) {
    out[0] = least(half4(1)).w;
    out[1] = numeric_limits<half2>::lowest().y;
    out[2] = numeric_limits<uchar3>::max().z;
    out[3] = numeric_limits<short4>::min().x;
    out[4] = all(numeric_limits<float4>::infinity() == INFINITY);
    out[5] = numeric_limits<int2>::is_integer && !numeric_limits<float2>::is_integer;
}
