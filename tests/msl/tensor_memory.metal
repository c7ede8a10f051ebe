// matmul2d on operands in threadgroup memory, results there and in each type of element; 8-bit integers of either
// sign, deep enough that sums in float would be inexact; a cooperative tensor loaded from and stored to threadgroup
// memory.
// RUN: kernel=halves threadgroups=1 group=64
// ARG 0: f16[640] = i % 7 - 3
// ARG 1: f16[480] = i % 5 - 2
// ARG 2: f16[768]
// EXPECT 2: f16[768] = sum(j, 0, 20, ((20 * idiv(i, 24) + j) % 7 - 3) * ((24 * j + i % 24) % 5 - 2))
// RUN: kernel=bfloats threadgroups=1 group=64
// ARG 0: bf16[640] = i % 7 - 3
// ARG 1: bf16[480] = i % 5 - 2
// ARG 2: bf16[768]
// EXPECT 2: bf16[768] = sum(j, 0, 20, ((20 * idiv(i, 24) + j) % 7 - 3) * ((24 * j + i % 24) % 5 - 2))
// RUN: kernel=unsigned_deep threads=32 group=32
// ARG 0: u8[8192] = 255 - i % 3
// ARG 1: u8[8192] = 254 - i % 2
// ARG 2: i32[64] = 5
// EXPECT 2: i32[64] = 5 + sum(j, 0, 1024, (255 - (1024 * idiv(i, 8) + j) % 3) * (254 - (8 * j + i % 8) % 2))
// RUN: kernel=mixed_deep threads=32 group=32
// ARG 0: i8[8192] = 0 - 128 + i % 3
// ARG 1: u8[8192] = 254 - i % 2
// ARG 2: i32[64] = 5
// EXPECT 2: i32[64] = 5 + sum(j, 0, 1024, (0 - 128 + (1024 * idiv(i, 8) + j) % 3) * (254 - (8 * j + i % 8) % 2))
// RUN: kernel=registers_deep threads=32 group=32
// ARG 0: u8[4352] = 255 - i % 3
// ARG 1: u8[4352] = 254 - i % 2
// ARG 2: i32[256] = 5
// EXPECT 2: i32[256] = 5 + sum(j, 0, 272, (255 - (272 * idiv(i, 16) + j) % 3) * (254 - (16 * j + i % 16) % 2))
#include <metal_stdlib>
#include <metal_tensor>
#include <metal_cooperative_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;
using shape = dextents<int, 2>;

// 32 by 24 of depth 20, by two SIMD-groups: operands and the result in threadgroup memory.
template <class T>
kernel void shared(device T *a, device T *b, device T *c, uint i [[thread_index_in_threadgroup]]) {
    threadgroup T left[32 * 20], right[20 * 24], result[32 * 24];
    for (uint k = i; k < 640; k += 64) {
        left[k] = a[k];
    }
    for (uint k = i; k < 480; k += 64) {
        right[k] = b[k];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    tensor<threadgroup T, shape, tensor_inline> l(left, shape(20, 32)), r(right, shape(24, 20));
    tensor<threadgroup T, shape, tensor_inline> to(result, shape(24, 32));
    constexpr auto descriptor = matmul2d_descriptor(32, 24, 20);
    matmul2d<descriptor, execution_simdgroups<2>> first;
    first.run(l, r, to);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    // through a cooperative tensor and back, added to itself and halved
    auto sums = first.template get_destination_cooperative_tensor<decltype(l), decltype(r), T>();
    sums.load(to);
    for (ushort k = 0; k < sums.get_capacity(); k++) {
        if (sums.is_valid_element(k)) {
            sums[k] = (sums[k] + sums[k]) / T(2);
        }
    }
    sums.store(to);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint k = i; k < 768; k += 64) {
        c[k] = result[k];
    }
}
template [[host_name("halves")]] kernel void shared<half>(device half *, device half *, device half *, uint);
template [[host_name("bfloats")]] kernel void shared<bfloat>(device bfloat *, device bfloat *, device bfloat *, uint);

template <class A, class B> kernel void deep(device A *a, device B *b, device int *c) {
    auto l = tensor(a, shape(1024, 8));
    auto r = tensor(b, shape(8, 1024));
    auto to = tensor(c, shape(8, 8));
    constexpr auto descriptor = matmul2d_descriptor(8, 8, static_cast<int>(dynamic_extent), false, false, true,
        matmul2d_descriptor::mode::multiply_accumulate);
    matmul2d<descriptor, execution_simdgroup> op;
    op.run(l, r, to);
}
template [[host_name("unsigned_deep")]] kernel void deep<uchar, uchar>(device uchar *, device uchar *, device int *);
template [[host_name("mixed_deep")]] kernel void deep<char, uchar>(device char *, device uchar *, device int *);

// In registers.
kernel void registers_deep(device uchar *a, device uchar *b, device int *c) {
    auto l = tensor(a, shape(272, 16));
    auto r = tensor(b, shape(16, 272));
    auto to = tensor(c, shape(16, 16));
    constexpr auto descriptor = matmul2d_descriptor(16, 16, 272, false, false, false,
        matmul2d_descriptor::mode::multiply_accumulate);
    matmul2d<descriptor, execution_simdgroup> op;
    auto ca = op.get_left_input_cooperative_tensor<uchar, uchar, int>();
    auto cb = op.get_right_input_cooperative_tensor<uchar, uchar, int>();
    auto sums = op.get_destination_cooperative_tensor<decltype(ca), decltype(cb), int>();
    sums.load(to);
    ca.load(l);
    cb.load(r);
    op.run(ca, cb, sums);
    sums.store(to);
}
