// RUN: kernel=long_vectors threads=2 group=2
// ARG 0: f16[16] = i
// ARG 1: f16[16]
// ARG 2: f32[2]
// EXPECT 1: f16 [1 1.5 2 2.5 3 3.5 4 4.5 5 5.5 6 6.5 7 7.5 8 8.5]
// EXPECT 2: f32 [22 54]
// RUN: kernel=same_size threads=1 group=1
// ARG 0: i32[8]
// EXPECT 0: i32 [1 -2 3 4 5 9 1 0]
#include <metal_stdlib>
using namespace metal;

typedef half half_v8 __attribute__((ext_vector_type(8)));
typedef __attribute__((ext_vector_type(8))) float float_v8;
typedef float __attribute__((__ext_vector_type__(4))) four;
using int_4 = int __attribute__((ext_vector_type(4)));
template <typename T> using eight = T __attribute__((ext_vector_type(4 + 4)));

kernel void long_vectors(device const half *x [[buffer(0)]], device half *y [[buffer(1)]],
                         device float *sums [[buffer(2)]], uint i [[thread_position_in_grid]]) {
    half_v8 v = *((device const half_v8 *)(x + 8 * i));
    float_v8 f = float_v8(v) / 2.0f;
    f += 1.0f;
    *((device half_v8 *)(y + 8 * i)) = half_v8(f);
    float sum = 0.0f;
    for (uint k = 0; k < 8; k++)
        sum += f[k];
    sums[i] = sum;
}

// A cast converts; it does not reinterpret.
kernel void same_size(device int *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    four f = {1.5f, -2.5f, 3.25f, 4.0f};
    int_4 n = int_4(f);
    for (uint k = 0; k < 4; k++)
        out[k] = n[k];
    eight<int> e = eight<int>(0, 1, 2, 3, 4, 5, 6, 7);
    out[4] = e.s5;
    e = max(e, eight<int>(9));
    out[5] = e.s0;
    out[6] = all(float_v8(e) == float_v8(9.0f));
    eight<int> other = 9;
    other[7] = 8;
    out[7] = all(e == other);
}
