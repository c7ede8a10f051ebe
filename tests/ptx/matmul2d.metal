// matmul2d of bfloat in device memory: panels in threadgroup memory by asynchronous copies, and products of four
// SIMD-groups, though the kernel promises nothing about its threadgroups. What does not go that way is beside it.
// TARGETS: sm_90a
// WANT: ingot_panels\[192\]
// WANT: wgmma\.mma_async\.sync\.aligned\.m64n256k16\.f32\.bf16\.bf16
// WANT: cp\.async\.cg\.shared\.global
// NEVER: reqntid
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

kernel void multiply(tensor<device bfloat, dextents<int, 2>> a [[buffer(0)]],
                     tensor<device bfloat, dextents<int, 2>> b [[buffer(1)]],
                     tensor<device bfloat, dextents<int, 2>> c [[buffer(2)]],
                     uint2 group [[threadgroup_position_in_grid]]) {
    constexpr auto descriptor = matmul2d_descriptor(128, 256, static_cast<int>(dynamic_extent));
    matmul2d<descriptor, execution_simdgroups<8>> operation;
    auto rows = a.slice(0, group.y * 128);
    auto columns = b.slice(group.x * 256, 0);
    auto to = c.slice(group.x * 256, group.y * 128);
    operation.run(rows, columns, to);
}
