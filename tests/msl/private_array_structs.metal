// Private arrays of structs and two-dimensional ones.
// RUN: kernel=k threads=32 group=32
// ARG 0: f32[32]
// EXPECT 0: f32[32] = (i % 3) * 10 + (i % 2) + (i % 4) / 2
#include <metal_stdlib>
using namespace metal;

struct Item {
    float v;
    int n;
};
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float grid[3][2];
    Item items[4];
    for (int a = 0; a < 3; a++)
        for (int b = 0; b < 2; b++)
            grid[a][b] = a * 10 + b;
    for (int a = 0; a < 4; a++) {
        items[a].v = 0.5f;
        items[a].n = a;
    }
    x[i] = grid[i % 3][i % 2] + items[i % 4].v * items[i % 4].n;
}
