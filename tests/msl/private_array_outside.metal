// Threads behind the end of a row fill a private array from a negative start, as loops for the
// last elements of a row do on GPUs: it must not harm the others, nor the elements inside.
// RUN: kernel=k threads=64 group=64
// ARG 0: f32[64] = i
// ARG 1: u32 = 100
// ARG 2: f32[64]
// EXPECT 2: f32[64] = i < 25 ? 6 : 40
// RUN: kernel=two threads=32 group=32
// ARG 0: i32[32]
// ARG 1: i32 = 7
// EXPECT 0: i32[32] = i % 7 < 3 ? 10 * (i % 7) + i % 3 : 0
#include <metal_stdlib>
using namespace metal;

kernel void k(const device float *x, constant uint &size, device float *out,
              uint i [[thread_position_in_grid]]) {
    float values[4] = {0, 1, 2, 3};
    int n = int(size) - int(i) * 4;
    for (int j = n; j < 4; j++)
        values[j] = 10; // FINDS: bounds
    float sum = 0;
    for (int j = 0; j < 4; j++)
        sum += values[j];
    out[i] = sum + 0 * x[i];
}

kernel void two(device int *out, constant int &rows,
                uint i [[thread_position_in_grid]]) {
    int table[3][3];
    for (int r = 0; r < rows; r++)
        for (int c = 0; c < 3; c++)
            table[r][c] = 10 * r + c; // FINDS: bounds
    int r = i % 7, c = i % 3;
    out[i] = r < 3 ? table[r][c] : 0;
}
