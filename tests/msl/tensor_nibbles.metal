// matmul2d with elements of 4 bits on the right, two in a byte, the first in the lower half: unsigned with half, and
// signed with int8_t, where sums are exact.
// RUN: kernel=unsigned_nt threads=32 group=32
// ARG 0: f16[128] = i % 5 - 2
// ARG 1: u8[64] = (i * 37) % 256
// ARG 2: f32[64]
// EXPECT 2: f32[64] = sum(j, 0, 16, ((16 * idiv(i, 8) + j) % 5 - 2) * (j % 2 == 0 ? ((8 * (i % 8) + idiv(j, 2)) * 37) % 16 : idiv(((8 * (i % 8) + idiv(j, 2)) * 37) % 256, 16)))
// RUN: kernel=signed_nt threads=32 group=32
// ARG 0: i8[128] = i % 5 - 2
// ARG 1: u8[64] = (i * 37) % 256
// ARG 2: i32[64]
// EXPECT 2: i32[64] = sum(j, 0, 16, ((16 * idiv(i, 8) + j) % 5 - 2) * (((j % 2 == 0 ? ((8 * (i % 8) + idiv(j, 2)) * 37) % 16 : idiv(((8 * (i % 8) + idiv(j, 2)) * 37) % 256, 16)) + 8) % 16 - 8))
#include <metal_stdlib>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

template <class A, class B, class D> kernel void multiply(device A *a, device uchar *b, device D *c) {
    using shape = dextents<int, 2>;
    auto left = tensor(a, shape(16, 8));
    tensor<device B, shape, tensor_inline> right(b, shape(16, 8), array<int, 2>{1, 16});
    auto to = tensor(c, shape(8, 8));
    matmul2d<matmul2d_descriptor(8, 8, 16, false, true), execution_simdgroup> operation;
    operation.run(left, right, to);
}
template [[host_name("unsigned_nt")]] kernel void multiply<half, uint4b_format, float>(device half *, device uchar *, device float *);
template [[host_name("signed_nt")]] kernel void multiply<int8_t, int4b_format, int>(device int8_t *, device uchar *, device int *);
