// Rows and columns of a product reduced, and mapped back: a softmax of each row in registers; the
// result of one product as the left operand of the next.
// RUN: kernel=softmax_rows threads=32 group=32
// ARG 0: f32[512] = (i % 7) / 4
// ARG 1: f32[640]
// EXPECT 1: f32[640] = i < 512 ? exp((i % 7) / 4) / sum(j, 0, 32, exp(((32 * idiv(i, 32) + j) % 7) / 4)) : i < 528 ? sum(j, 0, 32, ((32 * (i - 512) + j) % 7) / 4) : i < 544 ? 0 : i < 576 ? minof(j, 0, 16, ((32 * j + i - 544) % 7) / 4) : i == 576 ? 3 : 0 ; rel=1e-5
// RUN: kernel=chained threads=32 group=32
// ARG 0: f16[256] = i % 5 - 2
// ARG 1: f16[256] = i % 3 - 1
// ARG 2: f32[256]
// EXPECT 2: f32[256] = sum(k, 0, 16, sum(j, 0, 16, ((16 * idiv(i, 16) + j) % 5 - 2) * ((16 * j + k) % 3 - 1)) * ((16 * k + i % 16) % 3 - 1))
#include <metal_stdlib>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

kernel void softmax_rows(device float *x [[buffer(0)]], device float *out [[buffer(1)]], uint lane [[thread_index_in_simdgroup]]) {
    auto from = tensor(x, extents<int, 32, 16>());
    auto to = tensor(out, extents<int, 32, 16>());
    matmul2d<matmul2d_descriptor(16, 32, 16), execution_simdgroup> op;
    using T = decltype(from);
    auto m = op.get_destination_cooperative_tensor<T, T, float>();
    auto most = op.get_row_reduction_destination_cooperative_tensor<T, T, float>();
    auto sums = op.get_row_reduction_destination_cooperative_tensor<T, T, float>();
    auto least = op.get_column_reduction_destination_cooperative_tensor<T, T, float>();
    m.load(from);
    reduce_rows(m, sums);
    auto row_sums = tensor(out + 512, dextents<int, 1>(16));
    sums.store(row_sums);
    reduce_columns(m, least, reduction_operation::min, reduction_operation_identity<float>::min_identity);
    auto columns = tensor(out + 544, dextents<int, 1>(32));
    least.store(columns);
    reduce_rows(m, most, reduction_operation::max, reduction_operation_identity<float>::max_identity);
    for (auto it = m.begin(); it != m.end(); it++) {
        *it = precise::exp(*it - *most.map_iterator(it));
    }
    reduce_rows(m, sums, reduction_operation::sum, 0.0f);
    if (is_iterator_compatible(m, sums) && !is_iterator_compatible(sums, m)) {
        for (auto it = m.begin(); it != m.end(); it++) {
            *it /= *sums.map_iterator(it);
        }
    }
    m.store(to);
    if (lane == 0) {
        out[576] = is_iterator_compatible(m, least) + is_iterator_compatible(m, m) + (m.get_rank() == 2 && sums.get_rank() == 1);
    }
}

kernel void chained(device half *a [[buffer(0)]], device half *b [[buffer(1)]], device float *c [[buffer(2)]]) {
    using square = dextents<int, 2>;
    auto ta = tensor(a, square(16, 16));
    auto tb = tensor(b, square(16, 16));
    auto tc = tensor(c, square(16, 16));
    matmul2d<matmul2d_descriptor(16, 16, 16), execution_simdgroup> op;
    auto first = op.get_destination_cooperative_tensor<decltype(ta), decltype(tb), float>();
    op.run(ta, tb, first);
    if (op.is_compatible_as_left_input<float, half, float>(first)) {
        auto left = op.get_left_input_cooperative_tensor<float, half, float>(first);
        auto second = op.get_destination_cooperative_tensor<decltype(left), decltype(tb), float>();
        op.run(left, tb, second);
        second.store(tc);
    }
}
