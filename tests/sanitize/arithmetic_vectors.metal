// Operators and conversions of vectors: shifts, divisions and conversions that integers have no result for.
// SANITIZE: arithmetic
// RUN: kernel=shift_left threads=8 group=8
// ARG 0: i32[32] = 1
// RUN: kernel=shift_right threads=8 group=8
// ARG 0: u32[32] = i
// RUN: kernel=shift_assign threads=8 group=8
// ARG 0: u32[16] = 1
// RUN: kernel=shift_by_scalar threads=8 group=8
// ARG 0: u32[32] = 1
// RUN: kernel=divide threads=8 group=8
// ARG 0: i32[32] = i
// RUN: kernel=divide_by_scalar threads=8 group=8
// ARG 0: i32[32] = i
// RUN: kernel=remainder threads=8 group=8
// ARG 0: u32[16] = i
// RUN: kernel=divide_assign threads=8 group=8
// ARG 0: i32[32] = i
// RUN: kernel=smallest threads=8 group=8
// ARG 0: i32[16] = -2147483648
// RUN: kernel=convert threads=8 group=8
// ARG 0: f32[32] = 1e9 * i
// ARG 1: i32[32]
// RUN: kernel=convert_unsigned threads=8 group=8
// ARG 0: f32[16] = 0 - i
// ARG 1: u32[16]
// RUN: kernel=convert_narrow threads=8 group=8
// ARG 0: f16[32] = 10 * i
// ARG 1: i8[32]
// RUN: kernel=long_shift threads=8 group=8
// ARG 0: u64[16] = 1
// RUN: kernel=in_a_function threads=8 group=8
// ARG 0: i32[16] = 1
// RUN: kernel=fine threads=8 group=8
// ARG 0: i32[32] = i
// ARG 1: f32[32] = i
// RUN: kernel=maths_is_fine threads=8 group=8
// ARG 0: f32[32] = 1000 * i + 1
// RUN: kernel=packing_is_fine threads=8 group=8
// ARG 0: u32[32] = i
// ARG 1: f32[32] = i
#include <metal_stdlib>
using namespace metal;

static int2 halved(int2 a, int2 b) {
    return a / b; // FINDS: arithmetic
}
kernel void shift_left(device int4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] << int4(30 + i); // FINDS: arithmetic
}
kernel void shift_right(device uint4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] >> (x[i] + 31); // FINDS: arithmetic
}
kernel void shift_assign(device uint2 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint2 v = x[i];
    v <<= uint2(i, 30 + i); // FINDS: arithmetic
    x[i] = v;
}
kernel void shift_by_scalar(device uint4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] << (28 + i); // FINDS: arithmetic
}
kernel void divide(device int4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = int4(100) / x[i]; // FINDS: arithmetic
}
kernel void divide_by_scalar(device int3 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] / (int(i) - 3); // FINDS: arithmetic
}
kernel void remainder(device uint2 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = uint2(100) % x[i]; // FINDS: arithmetic
}
kernel void divide_assign(device int4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    int4 v = 7;
    v /= x[i]; // FINDS: arithmetic
    x[i] = v;
}
kernel void smallest(device int2 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] / int2(-1); // FINDS: arithmetic
}
kernel void convert(device float4 *x [[buffer(0)]], device int4 *y [[buffer(1)]],
                    uint i [[thread_position_in_grid]]) {
    y[i] = int4(x[i]); // FINDS: arithmetic
}
kernel void convert_unsigned(device float2 *x [[buffer(0)]], device uint2 *y [[buffer(1)]],
                             uint i [[thread_position_in_grid]]) {
    y[i] = uint2(x[i]); // FINDS: arithmetic
}
kernel void convert_narrow(device half4 *x [[buffer(0)]], device char4 *y [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    y[i] = char4(x[i]); // FINDS: arithmetic
}
kernel void long_shift(device ulong2 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] << ulong2(60 + i); // FINDS: arithmetic
}
kernel void in_a_function(device int2 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = halved(x[i], int2(i));
}
kernel void fine(device int4 *x [[buffer(0)]], device float4 *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    int4 v = x[i] / (abs(x[i]) + 1) + (x[i] << int4(i & 31)) + x[i] % 7;
    x[i] = v + int4(y[i] * 0.5f);
}
kernel void maths_is_fine(device float4 *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = sin(x[i]) + exp(-x[i]) + pow(abs(x[i]), 0.5f) + float4(ilogb(x[i])) + rint(x[i]);
}
kernel void packing_is_fine(device uint4 *x [[buffer(0)]], device float4 *y [[buffer(1)]],
                            uint i [[thread_position_in_grid]]) {
    x[i].x = pack_float_to_unorm4x8(y[i] * 0.01f) + popcount(x[i].y) + clz(x[i].z);
    y[i] = unpack_snorm4x8_to_float(x[i].x);
}
