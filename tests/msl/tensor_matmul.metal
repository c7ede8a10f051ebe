// matmul2d: every transposition, ragged sizes, by several SIMD-groups, one, and a thread; results in
// memory and in cooperative tensors; k stated, in a loop, and that of the tensors.
// RUN: kernel=memory_nn threadgroups=2,2 group=128
// ARG 0: f16[777] = i % 7 - 3
// ARG 1: f16[609] = i % 5 - 2
// ARG 2: f32[1073] = 99
// EXPECT 2: f32[1073] = sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((29 * j + i % 29) % 5 - 2))
// RUN: kernel=registers_nn threadgroups=1,3 group=32
// ARG 0: f16[777] = i % 7 - 3
// ARG 1: f16[609] = i % 5 - 2
// ARG 2: f32[1073] = i % 11
// EXPECT 2: f32[1073] = i % 11 + sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((29 * j + i % 29) % 5 - 2))
// RUN: kernel=loop_nt threadgroups=1,3 group=32
// ARG 0: bf16[777] = i % 7 - 3
// ARG 1: bf16[609] = i % 5 - 2
// ARG 2: f32[1073] = i % 11
// EXPECT 2: f32[1073] = i % 11 + sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((21 * (i % 29) + j) % 5 - 2))
// RUN: kernel=registers_nt threadgroups=1,3 group=32
// ARG 0: f16[777] = i % 7 - 3
// ARG 1: f16[609] = i % 5 - 2
// ARG 2: f32[1073] = i % 11
// EXPECT 2: f32[1073] = i % 11 + sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((21 * (i % 29) + j) % 5 - 2))
// RUN: kernel=loop_tn threadgroups=1,3 group=32
// ARG 0: bf16[777] = i % 7 - 3
// ARG 1: bf16[609] = i % 5 - 2
// ARG 2: f32[1073] = i % 11
// EXPECT 2: f32[1073] = i % 11 + sum(j, 0, 21, ((37 * j + idiv(i, 29)) % 7 - 3) * ((29 * j + i % 29) % 5 - 2))
// RUN: kernel=registers_tn threadgroups=1,3 group=32
// ARG 0: f16[777] = i % 7 - 3
// ARG 1: f16[609] = i % 5 - 2
// ARG 2: f32[1073] = i % 11
// EXPECT 2: f32[1073] = i % 11 + sum(j, 0, 21, ((37 * j + idiv(i, 29)) % 7 - 3) * ((29 * j + i % 29) % 5 - 2))
// RUN: kernel=memory_tt threadgroups=2,2 group=128
// ARG 0: f16[777] = i % 7 - 3
// ARG 1: f16[609] = i % 5 - 2
// ARG 2: f32[1073] = 99
// EXPECT 2: f32[1073] = sum(j, 0, 21, ((37 * j + idiv(i, 29)) % 7 - 3) * ((21 * (i % 29) + j) % 5 - 2))
// RUN: kernel=registers_tt threadgroups=1,3 group=32
// ARG 0: f16[777] = i % 7 - 3
// ARG 1: f16[609] = i % 5 - 2
// ARG 2: f32[1073] = i % 11
// EXPECT 2: f32[1073] = i % 11 + sum(j, 0, 21, ((37 * j + idiv(i, 29)) % 7 - 3) * ((21 * (i % 29) + j) % 5 - 2))
// RUN: kernel=thread_nt threadgroups=6,10 group=1
// ARG 0: f32[777] = i % 7 - 3
// ARG 1: f32[609] = i % 5 - 2
// ARG 2: f32[1073] = i % 11
// EXPECT 2: f32[1073] = i % 11 + sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((21 * (i % 29) + j) % 5 - 2))
// RUN: kernel=left_nn threadgroups=2,2 group=64
// ARG 0: f32[777] = i % 7 - 3
// ARG 1: f32[609] = i % 5 - 2
// ARG 2: f32[1073] = i % 11
// EXPECT 2: f32[1073] = i % 11 + sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((29 * j + i % 29) % 5 - 2))
// RUN: kernel=right_nt threadgroups=1,5 group=32
// ARG 0: f32[777] = i % 7 - 3
// ARG 1: f32[609] = i % 5 - 2
// ARG 2: f32[1073] = i % 11
// EXPECT 2: f32[1073] = i % 11 + sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((21 * (i % 29) + j) % 5 - 2))
// RUN: kernel=bytes_nn threadgroups=1,2 group=64
// ARG 0: i8[777] = i % 7 - 3
// ARG 1: i8[609] = i % 5 - 2
// ARG 2: i32[1073] = i % 11
// EXPECT 2: i32[1073] = i % 11 + sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((29 * j + i % 29) % 5 - 2))
// RUN: kernel=mixed_nt threadgroups=1,2 group=64
// ARG 0: f16[777] = i % 7 - 3
// ARG 1: i8[609] = i % 5 - 2
// ARG 2: f32[1073] = 99
// EXPECT 2: f32[1073] = sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((21 * (i % 29) + j) % 5 - 2))
// RUN: kernel=dynamic_nn threadgroups=1,1 group=64
// ARG 0: f32[777] = i % 7 - 3
// ARG 1: f32[609] = i % 5 - 2
// ARG 2: f32[1073] = 99
// EXPECT 2: f32[1073] = sum(j, 0, 21, ((21 * idiv(i, 29) + j) % 7 - 3) * ((29 * j + i % 29) % 5 - 2))
// RUN: kernel=dynamic_tt threadgroups=1,1 group=1
// ARG 0: f32[777] = i % 7 - 3
// ARG 1: f32[609] = i % 5 - 2
// ARG 2: f32[1073] = 99
// EXPECT 2: f32[1073] = sum(j, 0, 21, ((37 * j + idiv(i, 29)) % 7 - 3) * ((21 * (i % 29) + j) % 5 - 2))
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

constant constexpr int M = 37, N = 29, K = 21;
using extents_t = dextents<int32_t, 2>;

template <class T> auto left(device T *a, bool transposed) {
    return tensor<device T, extents_t, tensor_inline>(a, transposed ? extents_t(M, K) : extents_t(K, M));
}
template <class T> auto right(device T *b, bool transposed) {
    return tensor<device T, extents_t, tensor_inline>(b, transposed ? extents_t(K, N) : extents_t(N, K));
}
// From column x, row y of the product's operand.
template <bool TRANSPOSED, class T> auto at(T operand, int x, int y) {
    return TRANSPOSED ? operand.slice(y, x) : operand.slice(x, y);
}

template <class A, class B, class D, int TM, int TN, bool TA, bool TB, class Scope, bool ADD = false,
          int TK = int(dynamic_extent)>
kernel void memory(device A *a, device B *b, device D *c, uint2 group [[threadgroup_position_in_grid]]) {
    constexpr auto descriptor = matmul2d_descriptor(TM, TN, TK, TA, TB, false,
        ADD ? matmul2d_descriptor::mode::multiply_accumulate : matmul2d_descriptor::mode::multiply);
    matmul2d<descriptor, Scope> op;
    int row = TM > 0 ? group.y * TM : 0, column = TN > 0 ? group.x * TN : 0;
    auto l = at<TA>(left(a, TA), 0, row);
    auto r = at<TB>(right(b, TB), column, 0);
    auto to = tensor(c, extents_t(N, M), array<int, 2>({1, N})).slice(column, row);
    op.run(l, r, to);
}

// Steps of 16 in k, added up in a cooperative tensor; KIND: which operands are cooperative tensors too.
template <class A, class B, class D, int TM, int TN, bool TA, bool TB, class Scope, int KIND>
kernel void steps(device A *a, device B *b, device D *c, uint2 group [[threadgroup_position_in_grid]]) {
    constexpr auto descriptor = matmul2d_descriptor(TM, TN, 16, TA, TB, true,
        matmul2d_descriptor::mode::multiply_accumulate);
    using op_t = matmul2d<descriptor, Scope>;
    op_t op;
    auto l = left(a, TA);
    auto r = right(b, TB);
    int row = group.y * TM, column = group.x * TN;
    auto to = tensor(c, extents_t(N, M)).slice(column, row);
    auto ca = op.template get_left_input_cooperative_tensor<A, B, D>();
    auto cb = op.template get_right_input_cooperative_tensor<A, B, D>();
    using left_t = conditional_t<(KIND & 1) != 0, decltype(ca), decltype(l)>;
    using right_t = conditional_t<(KIND & 2) != 0, decltype(cb), decltype(r)>;
    auto sums = op.template get_destination_cooperative_tensor<left_t, right_t, D>();
    sums.load(to);
    for (int k = 0; k < K; k += 16) {
        auto lk = at<TA>(l, k, row);
        auto rk = at<TB>(r, column, k);
        ca.load(lk);
        for (ushort i = 0; i < cb.get_capacity(); i++) {
            if (cb.is_valid_element(i)) {
                auto place = cb.get_multidimensional_index(i);
                cb[i] = rk.load(place[0], place[1]);
            }
        }
        if constexpr (KIND == 3) {
            op.run(ca, cb, sums);
        } else if constexpr (KIND == 1) {
            op.run(ca, rk, sums);
        } else if constexpr (KIND == 2) {
            op.run(lk, cb, sums);
        } else {
            op.run(lk, rk, sums);
        }
    }
    if constexpr (KIND == 3) {
        sums.store(to);
        return;
    }
    for (auto it = sums.begin(); it != sums.end(); it++) {
        auto place = sums.get_multidimensional_index(it);
        if (sums.is_valid_element(it) && column + place[0] < N && row + place[1] < M) {
            c[(row + place[1]) * N + column + place[0]] = *it;
        }
    }
}

#define MEMORY(TA, TB, name) \
    template [[host_name("memory_" name)]] kernel void memory<half, half, float, 32, 16, TA, TB, execution_simdgroups<4>>(device half *, device half *, device float *, uint2);
#define LOOP(TA, TB, name) \
    template [[host_name("loop_" name)]] kernel void steps<bfloat, bfloat, float, 16, 32, TA, TB, execution_simdgroup, 0>(device bfloat *, device bfloat *, device float *, uint2);
#define REGISTERS(TA, TB, name) \
    template [[host_name("registers_" name)]] kernel void steps<half, half, float, 16, 32, TA, TB, execution_simdgroup, 3>(device half *, device half *, device float *, uint2);
MEMORY(false, false, "nn")
MEMORY(true, true, "tt")
LOOP(false, true, "nt")
LOOP(true, false, "tn")
REGISTERS(false, false, "nn")
REGISTERS(false, true, "nt")
REGISTERS(true, false, "tn")
REGISTERS(true, true, "tt")
template [[host_name("thread_nt")]] kernel void memory<float, float, float, 4, 5, false, true, execution_thread, true>(device float *, device float *, device float *, uint2);
template [[host_name("left_nn")]] kernel void steps<float, float, float, 32, 16, false, false, execution_simdgroups<2>, 1>(device float *, device float *, device float *, uint2);
template [[host_name("right_nt")]] kernel void steps<float, float, float, 8, 32, false, true, execution_simdgroup, 2>(device float *, device float *, device float *, uint2);
template [[host_name("bytes_nn")]] kernel void memory<int8_t, int8_t, int, 32, 32, false, false, execution_simdgroups<2>, true>(device int8_t *, device int8_t *, device int *, uint2);
template [[host_name("mixed_nt")]] kernel void memory<half, int8_t, float, 32, 32, false, true, execution_simdgroups<2>>(device half *, device int8_t *, device float *, uint2);
template [[host_name("dynamic_nn")]] kernel void memory<float, float, float, -1, -1, false, false, execution_simdgroups<2>>(device float *, device float *, device float *, uint2);
template [[host_name("dynamic_tt")]] kernel void memory<float, float, float, -1, -1, true, true, execution_thread>(device float *, device float *, device float *, uint2);
