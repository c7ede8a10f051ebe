// Descriptors that state less than the tensors have, results of other operations, and names of Apple's headers:
// k that no tile divides, in memory and in registers; rows of one product's reduction for the elements of another;
// a transposed left operand in registers adds up in the order of k; tiles narrower than eight elements.
// RUN: kernel=short_depth threads=128 group=128
// ARG 0: f16[696] = i % 7 - 3
// ARG 1: f16[1080] = i % 5 - 2
// ARG 2: f32[1305] = i % 11
// EXPECT 2: f32[1305] = i % 11 + sum(k, 0, 20, ((24 * idiv(i, 45) + k) % 7 - 3) * ((24 * (i % 45) + k) % 5 - 2))
// RUN: kernel=mixed_depth threads=32 group=32
// ARG 0: f16[384] = i % 7 - 3
// ARG 1: f16[512] = i % 5 - 2
// ARG 2: f32[512]
// EXPECT 2: f32[512] = sum(k, 0, 12, ((24 * idiv(i, 32) + k) % 7 - 3) * ((32 * k + i % 32) % 5 - 2))
// RUN: kernel=rescaled threads=32 group=32
// ARG 0: f32[512] = i % 13 - 5
// ARG 1: f32[1024] = 1
// ARG 2: f32[1025]
// EXPECT 2: f32[1025] = i < 1024 ? maxof(j, 0, 32, (32 * idiv(i, 64) + j) % 13 - 5) : 101
// RUN: kernel=other_rows threads=32 group=32
// ARG 0: f32[512]
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// RUN: kernel=ascending threads=32 group=32
// ARG 0: f32[256] = 1
// ARG 1: f32[512] = idiv(i, 32) == 0 ? 16777216 : idiv(i, 32) == 2 ? 1 : idiv(i, 32) == 4 ? -16777216 : 0
// ARG 2: f32[512]
// EXPECT 2: f32[512] = 0
// RUN: kernel=narrow threads=128 group=128
// ARG 0: f16[260] = i % 7 - 3
// ARG 1: f16[140] = i % 5 - 2
// ARG 2: f32[119]
// EXPECT 2: f32[119] = i < 91 ? sum(k, 0, 20, ((20 * idiv(i, 7) + k) % 7 - 3) * ((7 * k + i % 7) % 5 - 2)) : sum(k, 0, 20, ((13 * k + idiv(i - 91, 7)) % 7 - 3) * ((7 * k + i % 7) % 5 - 2))
#include <metal_stdlib>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

constexpr constant auto adds = matmul2d_descriptor::mode::multiply_accumulate;

kernel void short_depth(device half *a [[buffer(0)]], device half *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    auto x = tensor(a, dextents<int, 2>(24, 29)), y = tensor(b, dextents<int, 2>(24, 45));
    auto z = tensor(c, dextents<int, 2>(45, 29));
    matmul2d<matmul2d_descriptor(32, 48, 20, false, true, false, adds), execution_simdgroups<4>> op;
    op.run(x, y, z);
}

kernel void mixed_depth(device half *a [[buffer(0)]], device half *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    auto x = tensor(a, dextents<int, 2>(24, 16)), y = tensor(b, dextents<int, 2>(32, 16));
    auto z = tensor(c, dextents<int, 2>(32, 16));
    matmul2d<matmul2d_descriptor(16, 32, 12), execution_simdgroup> op;
    auto left = op.get_left_input_cooperative_tensor<half, half, float>();
    left.load(x);
    using L = __tensor_ops_detail::__remove_addrspace_t<decltype(left)>;
    auto sums = op.get_destination_cooperative_tensor<L, decltype(y), float>();
    op.run(left, y, sums);
    sums.store(z);
}

// As attention does: the rows of scores are reduced, and a product with another number of columns is scaled by them.
kernel void rescaled(device float *a [[buffer(0)]], device float *b [[buffer(1)]], device float *c [[buffer(2)]], uint lane [[thread_index_in_simdgroup]]) {
    auto x = tensor(a, extents<int, 32, 16>());
    auto y = tensor(b, extents<int, 64, 16>()), z = tensor(c, extents<int, 64, 16>());
    matmul2d<matmul2d_descriptor(16, 32, 16), execution_simdgroup> score;
    matmul2d<matmul2d_descriptor(16, 64, 32), execution_simdgroup> output;
    using T = decltype(x);
    auto scores = score.get_destination_cooperative_tensor<T, T, float>();
    auto most = score.get_row_reduction_destination_cooperative_tensor<T, T, float>();
    auto least = score.get_column_reduction_destination_cooperative_tensor<T, T, float>();
    auto sums = output.get_destination_cooperative_tensor<T, T, float>();
    scores.load(x);
    sums.load(y);
    reduce_rows(scores, most, reduction_operation::max, reduction_operation_identity<float>::max_identity);
    if (is_iterator_compatible(sums, most)) {
        for (auto it = sums.begin(); it != sums.end(); it++) {
            *it *= *most.map_iterator(it);
        }
    }
    if (is_iterator_compatible(sums, least)) {
        for (auto it = sums.begin(); it != sums.end(); it++) {
            *it = *least.map_iterator(it);
        }
    }
    sums.store(z);
    if (lane == 0) {
        c[1024] = is_iterator_compatible(scores, most) + 10 * is_iterator_compatible(sums, least) + 100 * is_iterator_compatible(sums, most);
    }
}

kernel void other_rows(device float *a [[buffer(0)]]) {
    auto x = tensor(a, extents<int, 32, 16>());
    matmul2d<matmul2d_descriptor(16, 32, 16), execution_simdgroup> score;
    matmul2d<matmul2d_descriptor(32, 32, 16), execution_simdgroup> other;
    using T = decltype(x);
    auto most = score.get_row_reduction_destination_cooperative_tensor<T, T, float>();
    auto sums = other.get_destination_cooperative_tensor<T, T, float>();
    a[0] = *most.map_iterator(sums.begin());
}

kernel void ascending(device float *a [[buffer(0)]], device float *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    auto x = tensor(a, extents<int, 16, 16>());
    auto y = tensor(b, extents<int, 32, 16>()), z = tensor(c, extents<int, 32, 16>());
    matmul2d<matmul2d_descriptor(16, 32, 16, true), execution_simdgroup> op;
    auto left = op.get_left_input_cooperative_tensor<float, float, float>();
    auto right = op.get_right_input_cooperative_tensor<float, float, float>();
    auto sums = op.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
    left.load(x);
    right.load(y);
    op.run(left, right, sums);
    sums.store(z);
}

// Fewer columns, or rows of a transposed operand, than a piece of a panel has elements.
kernel void narrow(device half *a [[buffer(0)]], device half *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    auto y = tensor(b, dextents<int, 2>(7, 20));
    constexpr auto depth = static_cast<int>(dynamic_extent);
    auto x = tensor(a, dextents<int, 2>(20, 13));
    auto z = tensor(c, dextents<int, 2>(7, 13)), rest = tensor(c + 91, dextents<int, 2>(7, 4));
    matmul2d<matmul2d_descriptor(16, 7, depth), execution_simdgroups<4>> columns;
    columns.run(x, y, z);
    auto turned = tensor(a, dextents<int, 2>(13, 20));
    matmul2d<matmul2d_descriptor(4, 7, depth, true), execution_simdgroups<4>> rows;
    rows.run(turned, y, rest);
}
