// matmul2d in tiles that GPUs make by way of threadgroup memory of the compiler's own: whole and ragged, operands as they
// are and transposed, added to what is there, twice in a kernel that has threadgroup memory itself, into a cooperative
// tensor, half and bfloat. And what cannot go that way: rows that do not begin at 16 bytes, a depth that is no multiple
// of 8, other SIMD-groups in the threadgroup.
// RUN: kernel=whole threadgroups=1 group=128
// ARG 0: bf16[4608] = i * 7 % 5 - 2
// ARG 1: bf16[4608] = i * 3 % 7 - 3
// ARG 2: f32[4096]
// EXPECT 2: f32[4096] = sum(k, 0, 72, ((72 * idiv(i, 64) + k) * 7 % 5 - 2) * ((64 * k + i % 64) * 3 % 7 - 3))
// RUN: kernel=ragged_nn threadgroups=2,2 group=128
// ARG 0: bf16[14400] = i * 7 % 5 - 2
// ARG 1: bf16[14400] = i * 3 % 7 - 3
// ARG 2: f32[5184]
// EXPECT 2: f32[5184] = sum(k, 0, 200, ((200 * idiv(i, 72) + k) * 7 % 5 - 2) * ((72 * k + i % 72) * 3 % 7 - 3))
// RUN: kernel=ragged_nt threadgroups=2,2 group=128
// ARG 0: f16[9728] = i * 7 % 5 - 2
// ARG 1: f16[9216] = i * 3 % 7 - 3
// ARG 2: f32[5472]
// EXPECT 2: f32[5472] = sum(k, 0, 128, ((128 * idiv(i, 72) + k) * 7 % 5 - 2) * ((128 * (i % 72) + k) * 3 % 7 - 3))
// RUN: kernel=ragged_tn threadgroups=2,2 group=128
// ARG 0: bf16[936] = i * 7 % 5 - 2
// ARG 1: bf16[1040] = i * 3 % 7 - 3
// ARG 2: f32[5760]
// EXPECT 2: f32[5760] = sum(k, 0, 13, ((72 * k + idiv(i, 80)) * 7 % 5 - 2) * ((80 * k + i % 80) * 3 % 7 - 3))
// RUN: kernel=ragged_tt threadgroups=2,2 group=128
// ARG 0: bf16[4608] = i * 7 % 5 - 2
// ARG 1: bf16[4480] = i * 3 % 7 - 3
// ARG 2: f32[5040]
// EXPECT 2: f32[5040] = sum(k, 0, 64, ((72 * k + idiv(i, 70)) * 7 % 5 - 2) * ((64 * (i % 70) + k) * 3 % 7 - 3))
// RUN: kernel=odd_depth threadgroups=1 group=128
// ARG 0: bf16[4288] = i * 7 % 5 - 2
// ARG 1: bf16[4288] = i * 3 % 7 - 3
// ARG 2: f32[4096]
// EXPECT 2: f32[4096] = sum(k, 0, 67, ((67 * idiv(i, 64) + k) * 7 % 5 - 2) * ((64 * k + i % 64) * 3 % 7 - 3))
// RUN: kernel=whole threadgroups=1 group=160
// ARG 0: bf16[4608] = i * 7 % 5 - 2
// ARG 1: bf16[4608] = i * 3 % 7 - 3
// ARG 2: f32[4096]
// EXPECT 2: f32[4096] = sum(k, 0, 72, ((72 * idiv(i, 64) + k) * 7 % 5 - 2) * ((64 * k + i % 64) * 3 % 7 - 3))
// RUN: kernel=unaligned threadgroups=1 group=128
// ARG 0: bf16[4609] = i * 7 % 5 - 2
// ARG 1: bf16[4608] = i * 3 % 7 - 3
// ARG 2: f32[4096]
// EXPECT 2: f32[4096] = sum(k, 0, 72, ((72 * idiv(i, 64) + k + 1) * 7 % 5 - 2) * ((64 * k + i % 64) * 3 % 7 - 3))
// RUN: kernel=twice threadgroups=1 group=128
// ARG 0: f16[8192] = i * 7 % 3 - 1
// ARG 1: f16[8192] = i * 3 % 5 - 2
// ARG 2: f16[4096] = i % 3
// EXPECT 2: f16[4096] = i % 3 + 9 + 2 * sum(k, 0, 128, ((128 * idiv(i, 64) + k) * 7 % 3 - 1) * ((64 * k + i % 64) * 3 % 5 - 2))
// RUN: kernel=large threadgroups=1 group=256
// ARG 0: bf16[8192] = i * 7 % 5 - 2
// ARG 1: bf16[16384] = i * 3 % 7 - 3
// ARG 2: bf16[32768]
// EXPECT 2: bf16[32768] = sum(k, 0, 64, ((64 * idiv(i, 256) + k) * 7 % 5 - 2) * ((256 * k + i % 256) * 3 % 7 - 3))
// RUN: kernel=cooperative threadgroups=2,2 group=128
// ARG 0: bf16[14400] = i * 7 % 5 - 2
// ARG 1: bf16[14400] = i * 3 % 7 - 3
// ARG 2: f32[5184]
// EXPECT 2: f32[5184] = i % 72 + 2 * sum(k, 0, 200, ((200 * idiv(i, 72) + k) * 7 % 5 - 2) * ((72 * k + i % 72) * 3 % 7 - 3))
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
using shape = dextents<int, 2>;

// C, M by N, of depth K; tiles of ROWS by COLUMNS.
template <class T, class D, int M, int N, int K, int ROWS, int COLUMNS, int SIMDGROUPS, bool TA, bool TB, int FIRST>
kernel void product(device T *a, device T *b, device D *c, uint2 group [[threadgroup_position_in_grid]]) {
    auto left = tensor(a + FIRST, TA ? shape(M, K) : shape(K, M)), right = tensor(b, TB ? shape(K, N) : shape(N, K));
    auto to = tensor(c, shape(N, M)).slice(group.x * COLUMNS, group.y * ROWS);
    constexpr auto descriptor = matmul2d_descriptor(ROWS, COLUMNS, static_cast<int>(dynamic_extent), TA, TB);
    matmul2d<descriptor, execution_simdgroups<SIMDGROUPS>> operation;
    auto rows = TA ? left.slice(group.y * ROWS, 0) : left.slice(0, group.y * ROWS);
    auto columns = TB ? right.slice(0, group.x * COLUMNS) : right.slice(group.x * COLUMNS, 0);
    operation.run(rows, columns, to);
}
#define PRODUCT(name, T, D, ...)                                                                                       \
    template [[host_name(name)]] kernel void product<T, D, __VA_ARGS__>(device T *, device T *, device D *, uint2);
PRODUCT("whole", bfloat, float, 64, 64, 72, 64, 64, 4, false, false, 0)
PRODUCT("unaligned", bfloat, float, 64, 64, 72, 64, 64, 4, false, false, 1)
PRODUCT("odd_depth", bfloat, float, 64, 64, 67, 64, 64, 4, false, false, 0)
PRODUCT("ragged_nn", bfloat, float, 72, 72, 200, 64, 64, 4, false, false, 0)
PRODUCT("ragged_nt", half, float, 76, 72, 128, 64, 64, 4, false, true, 0)
PRODUCT("ragged_tn", bfloat, float, 72, 80, 13, 64, 64, 4, true, false, 0)
PRODUCT("ragged_tt", bfloat, float, 72, 70, 64, 64, 64, 4, true, true, 0)
PRODUCT("large", bfloat, bfloat, 128, 256, 64, 128, 256, 8, false, false, 0)

// The same through a cooperative tensor: once with what is there, then added to it and to the element's column.
kernel void cooperative(device bfloat *a, device bfloat *b, device float *c,
                        uint2 group [[threadgroup_position_in_grid]]) {
    auto left = tensor(a, shape(200, 72)).slice(0, group.y * 64);
    auto right = tensor(b, shape(72, 200)).slice(group.x * 64, 0);
    auto to = tensor(c, shape(72, 72)).slice(group.x * 64, group.y * 64);
    constexpr auto depth = static_cast<int>(dynamic_extent);
    constexpr auto adds = matmul2d_descriptor::mode::multiply_accumulate;
    matmul2d<matmul2d_descriptor(64, 64, depth), execution_simdgroups<4>> first;
    matmul2d<matmul2d_descriptor(64, 64, depth, false, false, false, adds), execution_simdgroups<4>> second;
    auto sums = first.get_destination_cooperative_tensor<decltype(left), decltype(right), float>();
    first.run(left, right, sums);
    for (ushort i = 0; i < sums.get_capacity(); i++) {
        if (sums.is_valid_element(i)) {
            sums[i] += group.x * 64 + sums.get_multidimensional_index(i)[0];
        }
    }
    second.run(left, right, sums);
    sums.store(to);
}

kernel void twice(device half *a, device half *b, device half *c, uint i [[thread_index_in_threadgroup]]) {
    threadgroup half nines[5];
    if (i < 5) {
        nines[i] = half(i == 3 ? 9 : 0);
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    auto left = tensor(a, shape(128, 64)), right = tensor(b, shape(64, 128)), to = tensor(c, shape(64, 64));
    constexpr auto descriptor =
        matmul2d_descriptor(64, 64, static_cast<int>(dynamic_extent), false, false, false,
                            matmul2d_descriptor::mode::multiply_accumulate);
    matmul2d<descriptor, execution_simdgroups<4>> operation;
    operation.run(left, right, to);
    threadgroup_barrier(mem_flags::mem_device);
    operation.run(left, right, to);
    threadgroup_barrier(mem_flags::mem_device);
    for (uint k = i; k < 4096; k += 128) {
        c[k] += nines[3];
    }
}
