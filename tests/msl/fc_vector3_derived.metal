// Constants computed from function constants may be vectors of three, and be computed from such.
// RUN: kernel=k threads=1 group=1
// CONST a_given: i32 = 5
// ARG 0: f32[8]
// EXPECT 0: f32 [8 14 2 2 16 28 4 1.5]
#include <metal_stdlib>
using namespace metal;

constant int a_given [[function_constant(3)]];
constant int a = is_function_constant_defined(a_given) ? a_given : 13;
constant int b_given [[function_constant(4)]];
constant int b = is_function_constant_defined(b_given) ? b_given : 14;
constant uint c = uint(a) + 3u;
constant uint3 size = uint3(c, b, 2u);
constant uint3 twice = size * 2u;
constant half3 halves = half3(half(a) * 0.3h + 0.0h, 1.5h, 0.0h);

kernel void k(device float *out [[buffer(0)]]) {
    float4 sizes = float3(size).xyzz;
    for (int i = 0; i < 4; i++)
        out[i] = sizes[i];
    out[4] = twice.x;
    out[5] = twice.y;
    out[6] = twice.z;
    out[7] = halves.y;
}
