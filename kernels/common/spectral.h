// What eigh and svd share: scaling by a power of two, and how work is laid out.
#ifndef INGOT_KERNELS_COMMON_SPECTRAL_H
#define INGOT_KERNELS_COMMON_SPECTRAL_H

#include <metal_stdlib>
using namespace metal;

// The power of two that brings `largest` to between 1 and 2, kept inside what float can hold
// together with its inverse; 1 for 0.
inline float spectral_scale(float largest) {
    if (largest == 0) {
        return 1;
    }
    int exponent = int((as_type<uint>(largest) >> 23) & 255) - 127;
    exponent = clamp(exponent, -125, 125);
    return as_type<float>(uint(127 - exponent) << 23);
}

#endif
