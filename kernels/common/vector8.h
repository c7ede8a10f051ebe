/* Eight neighbouring elements of a row, which start at a multiple of 16 bytes: for GPUs, whose
 * lanes load so much at once. */
#ifndef INGOT_KERNELS_COMMON_VECTOR8_H
#define INGOT_KERNELS_COMMON_VECTOR8_H

#include <metal_stdlib>
using namespace metal;

constant constexpr uint LANE_ELEMENTS = 8; /* that a lane loads at once */

/* Eight elements as they lie in memory, and as floats. */
template <typename T> struct vector8 {
    uint4 bits;
    void load(device const T *from) {
        bits = *(device const uint4 *)from;
    }
    float element(uint i) thread const {
        vec<T, 2> pair = as_type<vec<T, 2>>(bits[i / 2]);
        return float(pair[i % 2]);
    }
};
template <> struct vector8<float> {
    float4 low, high;
    void load(device const float *from) {
        low = *(device const float4 *)from;
        high = *(device const float4 *)(from + 4);
    }
    float element(uint i) thread const {
        return i < 4 ? low[i] : high[i - 4];
    }
};

#endif
