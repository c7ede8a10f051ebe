// Vectors and matrices in the constant space, their components in constant expressions.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[12]
// EXPECT 0: f32 [2 6 6 6 3 5 8 16 3 4 5 -1]
#include <metal_stdlib>
using namespace metal;

constexpr constant float4 direct = float4(1, 2, 3, 4);
constant uint2 product = uint2(3) * 2;
constant half3 table[2] = {half3(1, 2, 3), {4, 5, 6}};
constexpr constant uint2 size(7, 8);
constant float3x3 square(1, 2, 3, 4, 5, 6, 7, 8, 9);
constant packed_float3 packed = packed_float3(1, 2, 3);
constant float4 derived = direct.wzyx + 1;
struct Pair {
    float2 a;
    int b;
};
constant Pair pairs[2] = {{float2(1, 2), 3}, {{4, 5}, 6}};
template <int N> struct Double {
    static constexpr int value = N * 2;
};

kernel void k(device float *o [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    constexpr uint2 length = uint2(5, 6);
    float local[length.x];
    local[4] = Double<size.y>::value;
    const uint4 numbers = {1, 2, 3, 4};
    o[0] = direct.y;
    o[1] = product.y;
    o[2] = table[1].z;
    o[3] = square[1][2];
    o[4] = packed.z;
    o[5] = derived.x;
    o[6] = pairs[1].a.y + pairs[0].b;
    o[7] = local[4];
    o[8] = numbers[i + 2];
    o[9] = direct[i + 3];
    o[10] = table[i + 1][i + 1];
    o[11] = -direct.zx.y;
}
