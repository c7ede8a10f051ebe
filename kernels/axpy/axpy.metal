// y = alpha * x + y. The product and the sum are computed in float and rounded once.
#include <metal_stdlib>
using namespace metal;
#include "axpy/axpy_args.h"
#include "common/instantiate.h"
#include "common/elementwise.h"

template <typename T>
kernel void axpy(device const T *x [[buffer(0)]],
                 device T *y [[buffer(1)]],
                 constant axpy_args &args [[buffer(2)]],
                 uint2 group [[threadgroup_position_in_grid]],
                 uint2 groups [[threadgroups_per_grid]],
                 uint simd [[simdgroup_index_in_threadgroup]],
                 uint simds [[simdgroups_per_threadgroup]],
                 uint lane [[thread_index_in_simdgroup]]) {
    memory_bound<T>();
    ulong at = simdgroup_number(group, groups, simd, simds) * args.block;
    ulong end = min(at + args.block, ulong(args.count));
    for (; at + ELEMENTS_STEP <= end; at += ELEMENTS_STEP)
        elements_store(y + at, lane,
                   fma(float4(args.alpha), elements_load(x + at, lane), elements_load(y + at, lane)));
    for (at += lane; at < end; at += 32)
        y[at] = T(fma(args.alpha, float(x[at]), float(y[at])));
}
INSTANTIATE_FLOATS(axpy)
