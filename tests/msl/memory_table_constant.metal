// Small tables in constant memory, read at indices that are known to be small: by nibbles, by a remainder,
// under a divergent branch, in a partial SIMD-group.
// RUN: kernel=floats threads=75 group=75
// ARG 0: u32[75] = i * 2654435761
// ARG 1: f32[75]
// EXPECT 1: f32[75] = sum(j, 0, 8, (((u32(i * 2654435761) >> (4 * j)) & 15) - 7.5) * (j + 1))
//
// RUN: kernel=bytes threads=75 group=75
// ARG 0: u8[75] = i * 37 + 11
// ARG 1: i32[75]
// EXPECT 1: i32[75] = ((u8(i * 37 + 11) & 15) * 16 - 127) * 1000 + (u8(i * 37 + 11) >> 4) * 16 - 127
//
// RUN: kernel=halves threads=75 group=75
// ARG 0: u32[75] = i * 7
// ARG 1: f16[75]
// EXPECT 1: f16[75] = i % 3 == 0 ? -1 : ((i * 7) % 8) * 0.5
//
// RUN: kernel=thirty_two threads=75 group=75
// ARG 0: u32[75] = i * 2654435761
// ARG 1: i32[75]
// EXPECT 1: i32[75] = ((u32(i * 2654435761) >> 27) * 3 - 40) + ((u32(i * 2654435761) & 3) - 2) * 1000
#include <metal_stdlib>
using namespace metal;

constant float float_table[16] = {-7.5f, -6.5f, -5.5f, -4.5f, -3.5f, -2.5f, -1.5f, -0.5f,
                                  0.5f,  1.5f,  2.5f,  3.5f,  4.5f,  5.5f,  6.5f,  7.5f};
constant char byte_table[16] = {-127, -111, -95, -79, -63, -47, -31, -15, 1, 17, 33, 49, 65, 81, 97, 113};
constant half half_table[8] = {0.0h, 0.5h, 1.0h, 1.5h, 2.0h, 2.5h, 3.0h, 3.5h};
constant int int_table[32] = {-40, -37, -34, -31, -28, -25, -22, -19, -16, -13, -10, -7, -4, -1, 2,  5,
                              8,   11,  14,  17,  20,  23,  26,  29,  32,  35,  38,  41, 44, 47, 50, 53};
constant int few[4] = {-2000, -1000, 0, 1000};

kernel void floats(device const uint *words, device float *out, uint i [[thread_position_in_grid]]) {
    float sum = 0;
    for (uint j = 0; j < 8; j++) {
        sum += float_table[(words[i] >> (4 * j)) & 15] * float(j + 1);
    }
    out[i] = sum;
}

kernel void bytes(device const uchar *codes, device int *out, uint i [[thread_position_in_grid]]) {
    out[i] = byte_table[codes[i] & 0xf] * 1000 + byte_table[codes[i] >> 4];
}

kernel void halves(device const uint *numbers, device half *out, uint i [[thread_position_in_grid]]) {
    half value = -1.0h;
    if (i % 3 != 0) {
        value = half_table[numbers[i] % 8];
    }
    out[i] = value;
}

kernel void thirty_two(device const uint *words, device int *out, uint i [[thread_position_in_grid]]) {
    out[i] = int_table[words[i] >> 27] + few[words[i] & 3];
}
