// C = A * B by two ways with the same tiles: 32 by 32 elements for each of four SIMD-groups, from device memory.
// bench/matmul2d.py compares their processor time.
#include <metal_stdlib>
#include <metal_simdgroup_matrix>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

template <class T>
kernel void tiles(device const T *a [[buffer(0)]], device const T *b [[buffer(1)]], device float *c [[buffer(2)]],
                  constant uint &n [[buffer(3)]], uint2 group [[threadgroup_position_in_grid]],
                  uint simdgroup [[simdgroup_index_in_threadgroup]]) {
    uint row = group.y * 64 + simdgroup / 2 * 32, column = group.x * 64 + simdgroup % 2 * 32;
    simdgroup_float8x8 sums[4][4];
    for (uint i = 0; i < 16; i++) {
        sums[i / 4][i % 4] = make_filled_simdgroup_matrix<float, 8, 8>(0.0f);
    }
    for (uint k = 0; k < n; k += 8) {
        simdgroup_matrix<T, 8, 8> left[4], right[4];
        for (uint i = 0; i < 4; i++) {
            simdgroup_load(left[i], a + (row + 8 * i) * n + k, n);
            simdgroup_load(right[i], b + k * n + column + 8 * i, n);
        }
        for (uint i = 0; i < 4; i++) {
            for (uint j = 0; j < 4; j++) {
                simdgroup_multiply_accumulate(sums[i][j], left[i], right[j], sums[i][j]);
            }
        }
    }
    for (uint i = 0; i < 4; i++) {
        for (uint j = 0; j < 4; j++) {
            simdgroup_store(sums[i][j], c + (row + 8 * i) * n + column + 8 * j, n);
        }
    }
}

template <class T>
kernel void products(device T *a [[buffer(0)]], device T *b [[buffer(1)]], device float *c [[buffer(2)]],
                     constant uint &n [[buffer(3)]], uint2 group [[threadgroup_position_in_grid]]) {
    using square = dextents<int, 2>;
    auto left = tensor(a, square(n, n)).slice(0, group.y * 64);
    auto right = tensor(b, square(n, n)).slice(group.x * 64, 0);
    auto to = tensor(c, square(n, n)).slice(group.x * 64, group.y * 64);
    constexpr auto descriptor = matmul2d_descriptor(64, 64, static_cast<int>(dynamic_extent));
    matmul2d<descriptor, execution_simdgroups<4>> operation;
    operation.run(left, right, to);
}

#define KERNELS(T)                                                                                                     \
    template [[host_name("tiles_" #T)]] kernel void tiles<T>(device const T *, device const T *, device float *,       \
                                                             constant uint &, uint2, uint);                            \
    template [[host_name("products_" #T)]] kernel void products<T>(device T *, device T *, device float *,             \
                                                                   constant uint &, uint2);
KERNELS(float)
KERNELS(half)
KERNELS(bfloat)
