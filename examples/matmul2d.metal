// C = A * B with Metal 4's tensors, which the host binds: each threadgroup of four SIMD-groups makes 64 by 32
// elements of C, and what lies beyond the matrices is left alone.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

kernel void multiply(tensor<device half, dextents<int, 2>> a [[buffer(0)]],
                     tensor<device half, dextents<int, 2>> b [[buffer(1)]],
                     tensor<device float, dextents<int, 2>> c [[buffer(2)]],
                     uint2 group [[threadgroup_position_in_grid]]) {
    constexpr auto descriptor = matmul2d_descriptor(64, 32, static_cast<int>(dynamic_extent));
    matmul2d<descriptor, execution_simdgroups<4>> operation;
    auto rows = a.slice(0, group.y * 64);
    auto columns = b.slice(group.x * 32, 0);
    auto tile = c.slice(group.x * 32, group.y * 64);
    operation.run(rows, columns, tile);
}
