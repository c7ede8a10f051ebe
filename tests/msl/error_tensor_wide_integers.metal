// Products of integers wider than 8 bits are not exact in tiles: refused.
// RUN: kernel=wide threads=32 group=32
// ARG 0: i32[256]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: integer operands of matmul2d have 8 or 4 bits
#include <metal_stdlib>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

kernel void wide(device int *a [[buffer(0)]]) {
    auto x = tensor(a, extents<int, 16, 16>());
    matmul2d<matmul2d_descriptor(16, 16, 16), execution_simdgroup> op;
    op.run(x, x, x);
}
