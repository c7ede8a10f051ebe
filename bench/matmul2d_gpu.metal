// C = A * B of bfloat by matmul2d, from device memory to device memory: 128 by 256 elements for each threadgroup of eight
// SIMD-groups. bench/matmul2d_gpu.py compares it with torch.matmul.
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

kernel void multiply(tensor<device bfloat, dextents<int, 2>> a [[buffer(0)]],
                     tensor<device bfloat, dextents<int, 2>> b [[buffer(1)]],
                     tensor<device bfloat, dextents<int, 2>> c [[buffer(2)]],
                     uint2 group [[threadgroup_position_in_grid]], uint2 groups [[threadgroups_per_grid]]) {
    // eight rows of threadgroups at a time, column by column: those that run together read the same of A and B
    uint number = group.y * groups.x + group.x, band = number / (8 * groups.x) * 8, rows = min(groups.y - band, 8u);
    uint within = number - band * groups.x, x = within / rows * 256, y = (band + within % rows) * 128;
    constexpr auto descriptor = matmul2d_descriptor(128, 256, static_cast<int>(dynamic_extent));
    matmul2d<descriptor, execution_simdgroups<8>> operation;
    auto left = a.slice(0, y), right = b.slice(x, 0), to = c.slice(x, y);
    operation.run(left, right, to);
}
