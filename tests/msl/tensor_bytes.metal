// matmul2d of 8-bit integers of all signs, with k beyond where sums in float are exact, and extreme values; the right
// side as it is and transposed, and whole tiles of both sides in threadgroup memory.
// RUN: kernel=ss threads=32 group=32
// ARG 0: i8[8320] = i % 520 < 260 ? -128 : (i * 37) % 256 - 128
// ARG 1: i8[8320] = idiv(i, 16) < 260 ? -128 : (i * 53) % 256 - 128
// ARG 2: i32[256] = 7
// EXPECT 2: i32[256] = sum(j, 0, 520, (j < 260 ? -128 : ((520 * idiv(i, 16) + j) * 37) % 256 - 128) * (j < 260 ? -128 : ((16 * j + i % 16) * 53) % 256 - 128))
// RUN: kernel=us threads=32 group=32
// ARG 0: u8[8320] = i % 520 < 260 ? 255 : (i * 37) % 256
// ARG 1: i8[8320] = idiv(i, 16) < 260 ? -128 : (i * 53) % 256 - 128
// ARG 2: i32[256] = 7
// EXPECT 2: i32[256] = sum(j, 0, 520, (j < 260 ? 255 : ((520 * idiv(i, 16) + j) * 37) % 256) * (j < 260 ? -128 : ((16 * j + i % 16) * 53) % 256 - 128))
// RUN: kernel=uu threads=32 group=32
// ARG 0: u8[8320] = i % 520 < 260 ? 255 : (i * 37) % 256
// ARG 1: u8[8320] = idiv(i, 16) < 260 ? 255 : (i * 53) % 256
// ARG 2: i32[256] = 7
// EXPECT 2: i32[256] = sum(j, 0, 520, (j < 260 ? 255 : ((520 * idiv(i, 16) + j) * 37) % 256) * (j < 260 ? 255 : ((16 * j + i % 16) * 53) % 256))
// RUN: kernel=su threads=32 group=32
// ARG 0: i8[8320] = (i * 37) % 256 - 128
// ARG 1: u8[8320] = (i * 53) % 256
// ARG 2: i32[256] = 7
// EXPECT 2: i32[256] = sum(j, 0, 520, (((520 * idiv(i, 16) + j) * 37) % 256 - 128) * (((16 * j + i % 16) * 53) % 256))
// RUN: kernel=turned threads=32 group=32
// ARG 0: i8[8320] = (i * 37) % 256 - 128
// ARG 1: i8[8320] = (i * 53) % 256 - 128
// ARG 2: i32[256] = 7
// EXPECT 2: i32[256] = sum(j, 0, 520, (((520 * idiv(i, 16) + j) * 37) % 256 - 128) * (((520 * (i % 16) + j) * 53) % 256 - 128))
// RUN: kernel=near threads=32 group=32
// ARG 0: i8[256] = (i * 37) % 256 - 128
// ARG 1: u8[256] = (i * 53) % 256
// ARG 2: i32[256]
// EXPECT 2: i32[256] = sum(j, 0, 16, (((16 * idiv(i, 16) + j) * 53) % 256) * (((16 * j + i % 16) * 37) % 256 - 128))
#include <metal_stdlib>
#include <metal_tensor>
#include <MetalPerformancePrimitives/MetalPerformancePrimitives.h>
using namespace metal;
using namespace mpp::tensor_ops;

template <typename A, typename B, bool TURNED>
kernel void bytes(device A *a [[buffer(0)]], device B *b [[buffer(1)]], device int *c [[buffer(2)]]) {
    using extents = dextents<int, 2>;
    tensor<device A, extents, tensor_inline> left(a, extents(520, 16));
    tensor<device B, extents, tensor_inline> right(b, TURNED ? extents(520, 16) : extents(16, 520));
    tensor<device int, extents, tensor_inline> out(c, extents(16, 16));
    constexpr auto descriptor = matmul2d_descriptor(16, 16, dynamic_length_v<int>, false, TURNED, false);
    matmul2d<descriptor, execution_simdgroup> multiply;
    multiply.run(left, right, out);
}
template [[host_name("ss")]] kernel void bytes<int8_t, int8_t, false>(device int8_t *, device int8_t *, device int *);
template [[host_name("us")]] kernel void bytes<uint8_t, int8_t, false>(device uint8_t *, device int8_t *, device int *);
template [[host_name("uu")]] kernel void bytes<uint8_t, uint8_t, false>(device uint8_t *, device uint8_t *, device int *);
template [[host_name("su")]] kernel void bytes<int8_t, uint8_t, false>(device int8_t *, device uint8_t *, device int *);
template [[host_name("turned")]] kernel void bytes<int8_t, int8_t, true>(device int8_t *, device int8_t *, device int *);

kernel void near(device const int8_t *b [[buffer(0)]], device const uint8_t *a [[buffer(1)]],
                 device int *c [[buffer(2)]], uint lane [[thread_index_in_threadgroup]]) {
    threadgroup uint8_t rows[256];
    threadgroup int8_t columns[256];
    for (uint i = lane; i < 256; i += 32) {
        rows[i] = a[i];
        columns[i] = b[i];
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    using extents = dextents<int, 2>;
    tensor<threadgroup uint8_t, extents, tensor_inline> left(rows, extents(16, 16));
    tensor<threadgroup int8_t, extents, tensor_inline> right(columns, extents(16, 16));
    tensor<device int, extents, tensor_inline> out(c, extents(16, 16));
    constexpr auto descriptor = matmul2d_descriptor(16, 16, dynamic_length_v<int>, false, false, false);
    matmul2d<descriptor, execution_simdgroup> multiply;
    multiply.run(left, right, out);
}
