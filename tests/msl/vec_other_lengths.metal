// Vectors of lengths that have no name: components by number, operators.
// RUN: kernel=k threads=4 group=4
// ARG 0: f32[4]
// EXPECT 0: f32 [344.5 442.5 444.5 541.5]
#include <metal_stdlib>
using namespace metal;

static constant vec<float, 9> weights{0.5, 1.5, 2.5, 3.5, 4.5, 5.5, 6.5, 7.5, 8.5};
static constant vec<int, 9> order = {8, 7, 6, 5, 4, 3, 2, 1, 0};
typedef float float5 __attribute__((ext_vector_type(5)));
constexpr constant vec<int, 6> six = vec<int, 6>(1, 2, 3, 4, 5, 6) * 2;

// 8.5 + 2·7.5 + … + 9·0.5 = 142.5; what is below 5 of 2+i, 4+i, -6-i, 8+i, 10+i, else 100; 2, 4, 6, 8
kernel void k(device float *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    float5 a = float5(1, 2, 3, 4, 5);
    a = a * 2 + float(i);
    a[2] = -a[2];
    vec<bool, 5> less = a < float5(5);
    float s = 0;
    for (int j = 0; j < 9; j++)
        s += weights[order[j]] * (j + 1);
    for (int j = 0; j < 5; j++)
        s += less[j] ? a[j] : 100;
    x[i] = s + six[i % 6];
}
