// Shifts by the width or more, divisions by zero, the smallest integer by -1, conversions out of range.
// SANITIZE: arithmetic
// RUN: kernel=shift_left threads=40 group=40
// ARG 0: u32[40]
// RUN: kernel=shift_right threads=40 group=40
// ARG 0: u32[40]
// RUN: kernel=shift_signed threads=40 group=40
// ARG 0: i32[40]
// RUN: kernel=shift_negative threads=4 group=4
// ARG 0: i32[4]
// RUN: kernel=shift_long threads=70 group=70
// ARG 0: u64[70]
// RUN: kernel=shift_assign threads=40 group=40
// ARG 0: u32[40]
// RUN: kernel=shift_in_a_helper threads=40 group=40
// ARG 0: u32[40]
// RUN: kernel=divide threads=4 group=4
// ARG 0: u32[4]
// RUN: kernel=divide_signed threads=4 group=4
// ARG 0: i32[4]
// RUN: kernel=remainder threads=4 group=4
// ARG 0: u32[4]
// RUN: kernel=remainder_signed threads=4 group=4
// ARG 0: i32[4]
// RUN: kernel=divide_long threads=4 group=4
// ARG 0: u64[4]
// RUN: kernel=divide_by_argument threads=4 group=4
// ARG 0: u32[4]
// ARG 1: u32 [0]
// RUN: kernel=smallest threads=4 group=4
// ARG 0: i32 [-2147483648 -2147483648 5 6]
// RUN: kernel=to_int threads=4 group=4
// ARG 0: f32 [1 2 3000000000 4]
// ARG 1: i32[4]
// RUN: kernel=to_uint threads=4 group=4
// ARG 0: f32 [1 2 -3 4]
// ARG 1: u32[4]
// RUN: kernel=to_char threads=4 group=4
// ARG 0: f32 [1 2 200 4]
// ARG 1: i8[4]
// RUN: kernel=half_to_short threads=4 group=4
// ARG 0: f16 [1 2 40000 4]
// ARG 1: i16[4]
// RUN: kernel=nan_to_int threads=4 group=4
// ARG 0: f32[4]
// ARG 1: i32[4]
// RUN: kernel=to_long threads=4 group=4
// ARG 0: f32 [1 2 1e30 4]
// ARG 1: i64[4]
// RUN: kernel=fine threads=40 group=40
// ARG 0: u32[40]
// ARG 1: f32[40] = i - 1
// ARG 2: i32[40]
// RUN: kernel=guarded threads=4 group=4
// ARG 0: u32[4]
// RUN: kernel=maths_is_fine threads=40 group=40
// ARG 0: f32[40] = i * 1000000
// RUN: kernel=edges_are_fine threads=2 group=2
// ARG 0: f32 [2147483520 -2147483648]
// ARG 1: i32[2]
// RUN: kernel=constant_operands threads=4 group=4
// ARG 0: u32[4] = i
// ARG 1: i32 [-2147483648 1 -1 4]
#include <metal_stdlib>
using namespace metal;

kernel void shift_left(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1u << i; // FINDS: arithmetic
}
kernel void shift_right(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 0xffffffffu >> i; // FINDS: arithmetic
}
kernel void shift_signed(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = -100 >> i; // FINDS: arithmetic
}
kernel void shift_negative(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1 << (int(i) - 1); // FINDS: arithmetic
}
kernel void shift_long(device ulong *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 1ul << i; // FINDS: arithmetic
}
kernel void shift_assign(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    uint v = i + 1;
    v <<= i; // FINDS: arithmetic
    x[i] = v;
}
static uint bit(uint n) {
    return 1u << n; // FINDS: arithmetic
}
kernel void shift_in_a_helper(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = bit(i); }
kernel void divide(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 10 / i; // FINDS: arithmetic
}
kernel void divide_signed(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 10 / (int(i) - 2); // FINDS: arithmetic
}
kernel void remainder(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 10 % (i & 1); // FINDS: arithmetic
}
kernel void remainder_signed(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 10 % (int(i) - 3); // FINDS: arithmetic
}
kernel void divide_long(device ulong *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = 10ul / x[i]; // FINDS: arithmetic
}
kernel void divide_by_argument(device uint *x [[buffer(0)]], constant uint &n [[buffer(1)]],
                               uint i [[thread_position_in_grid]]) {
    x[i] = i / n; // FINDS: arithmetic
}
kernel void smallest(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = x[i] / (int(i) - 1 == 0 ? 1 : -1); // FINDS: arithmetic
}
kernel void to_int(device float *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = int(x[i]); // FINDS: arithmetic
}
kernel void to_uint(device float *x [[buffer(0)]], device uint *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = uint(x[i]); // FINDS: arithmetic
}
kernel void to_char(device float *x [[buffer(0)]], device char *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = char(x[i]); // FINDS: arithmetic
}
kernel void half_to_short(device half *x [[buffer(0)]], device short *y [[buffer(1)]],
                          uint i [[thread_position_in_grid]]) {
    y[i] = short(x[i]); // FINDS: arithmetic
}
kernel void nan_to_int(device float *x [[buffer(0)]], device int *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = int(x[i] / x[i]); // FINDS: arithmetic
}
kernel void to_long(device float *x [[buffer(0)]], device long *y [[buffer(1)]], uint i [[thread_position_in_grid]]) {
    y[i] = long(x[i]); // FINDS: arithmetic
}
kernel void fine(device uint *x [[buffer(0)]], device float *y [[buffer(1)]], device int *z [[buffer(2)]],
                 uint i [[thread_position_in_grid]]) {
    x[i] = (1u << (i & 31)) + (i >> (i % 32)) + 10 / (i + 1) + i % 7;
    z[i] = int(y[i]) + int(uint(y[i] * 0.5f + 0.5f));
}
kernel void guarded(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = i == 0 ? 0 : 10 / i;
}
kernel void maths_is_fine(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = sin(x[i]) + exp(-x[i]) + pow(x[i], 0.5f) + floor(x[i]) + ldexp(1.0f, 3);
}
kernel void edges_are_fine(device float *x [[buffer(0)]], device int *y [[buffer(1)]],
                           uint i [[thread_position_in_grid]]) {
    y[i] = int(x[i]);
}
template <uint N> uint part(uint i) {
    return i % N + i / N; // FINDS: arithmetic
}
kernel void constant_operands(device uint *x [[buffer(0)]], device int *y [[buffer(1)]],
                              uint i [[thread_position_in_grid]]) {
    uint2 v = uint2(i) << uint2(1, 32); // FINDS: arithmetic
    x[i] = part<0>(i) + part<3>(i) + v.x + v.y;
    int least = INT_MIN / y[i]; // FINDS: arithmetic
    least ^= INT_MIN % y[i];    // FINDS: arithmetic
    least ^= -7 / y[i] ^ y[i] / 7;
    y[i] = y[i] / -1 + least; // FINDS: arithmetic
}
