/* Eight neighbouring elements of a row, which start at a multiple of 16 bytes: for GPUs, whose
 * lanes load so much at once. */
#ifndef INGOT_KERNELS_COMMON_PIECE_H
#define INGOT_KERNELS_COMMON_PIECE_H

#include <metal_stdlib>
using namespace metal;

constant constexpr uint PIECE = 8;

/* Eight elements as they lie in memory, and as floats. */
template <typename T> struct row_piece {
    uint4 bits;
    void load(device const T *from) {
        bits = *(device const uint4 *)from;
    }
    float element(uint i) thread const {
        vec<T, 2> pair = as_type<vec<T, 2>>(bits[i / 2]);
        return float(pair[i % 2]);
    }
};
template <> struct row_piece<float> {
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
