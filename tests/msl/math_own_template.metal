// A template that a kernel defines for integers is taken for them, and the library's function for
// everything else.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[6]
// EXPECT 0: f32 [-100 1 -1 0 100 -1]
#include <metal_stdlib>
using namespace metal;

template <typename T, typename E = typename enable_if<is_integral<T>::value>::type> inline T sign(T x) {
    return x < T(0) ? T(-100) : x > T(0) ? T(100) : T(0);
}
kernel void k(device float *out [[buffer(0)]]) {
    int negative = -3;
    short positive = 4;
    out[0] = sign(negative);
    out[1] = sign(2.5f);
    out[2] = sign(-2.5h);
    out[3] = sign(0u);
    out[4] = sign(positive);
    out[5] = sign(float2(-1, 2)).x;
}
