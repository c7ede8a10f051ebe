// y = alpha * x + y, four elements per thread; the last thread of the grid does the tail one by
// one. The product and the sum are computed in float and rounded once.
#include <metal_stdlib>
using namespace metal;
#include "axpy/axpy_args.h"
#include "common/instantiate.h"

template <typename T>
kernel void axpy(device const T *x [[buffer(0)]],
                 device T *y [[buffer(1)]],
                 constant axpy_args &args [[buffer(2)]],
                 uint2 position [[thread_position_in_grid]],
                 uint2 grid [[threads_per_grid]]) {
    ulong at = (ulong(position.y) * grid.x + position.x) * 4;
    if (at + 4 <= args.count) {
        device const vec<T, 4> *x4 = (device const vec<T, 4> *)(x + at);
        device vec<T, 4> *y4 = (device vec<T, 4> *)(y + at);
        *y4 = vec<T, 4>(fma(float4(args.alpha), float4(*x4), float4(*y4)));
    } else {
        for (ulong i = at; i < args.count; i++) {
            y[i] = T(fma(args.alpha, float(x[i]), float(y[i])));
        }
    }
}
INSTANTIATE_FLOATS(axpy)
