// Macros of Metal's library, literals of bfloat, constants of classes, hints to the optimiser.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[8]
// EXPECT 0: f32 [65504 3.140625 1.5 7 1 4 2 5]
#include <metal_stdlib>
using namespace metal;

#if !defined(__HAVE_BFLOAT__) || !defined(__METAL__) || !__has_include(<metal_simdgroup>)
#error "macros of the library are missing"
#endif
#pragma METAL internals : enable
METAL_FUNC float seven() { return 7; }
template <typename T> struct Limits {
    static constexpr constant int count = 4;
    static const constant T two;
};
template <typename T> constant T Limits<T>::two = 2;
struct Bits {
    uint low : 3;
    uint high : 5;
};
kernel void k(device float *out [[buffer(0)]]) {
    out[0] = HALF_MAX;
    out[1] = M_PI_BF;
    out[2] = 1.5bf;
    out[3] = seven();
    if (out[0] > 0) [[likely]]
        out[4] = 1;
    out[5] = Limits<half>::count;
    out[6] = Limits<half>::two;
    Bits bits = {.low = 13, .high = 3};
    out[7] = bits.low; // 13 in three bits
}
