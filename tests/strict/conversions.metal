// What does not convert by itself: between vectors, matrices, scalars and conditions.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], device int *n [[buffer(1)]]) {
    float4 v = x[0];
    float3 t = v.xyz;
    float s1 = v; // ERROR: no viable conversion from 'float4' to 'float'
    float4 s2 = t; // ERROR: no viable conversion from 'float3' to 'float4'
    half4 s3 = v; // ERROR: no viable conversion from 'float4' to 'half4'
    float s4 = v.x;
    float4 s5 = float4(t, 1);
    half4 s6 = half4(v);
    if (v == v) x[0] = 1; // ERROR: not contextually convertible to 'bool'
    if (all(v == v)) x[0] = 1;
    float4 s7 = v > 0 ? v : -v; // ERROR: not contextually convertible to 'bool'
    float4 s8 = select(-v, v, v > 0);
    x[1] = x[0] % 2.0f; // ERROR: invalid operands
    x[1] = fmod(x[0], 2.0f);
    x[2] = x[0] << 2; // ERROR: invalid operands
    x[2] = n[0] << 2;
    x[3] = (v & 1).x; // ERROR: invalid operands
    x[3] = (int4(v) & 1).x;
    float4x4 m(1);
    half2x2 h(1);
    x[4] = (m * t).x; // ERROR: invalid operands
    x[4] = (m * v).x;
    float2x2 f = h; // ERROR: no viable conversion
    half2x2 g = h;
    x[5] = float2x2(1, 2, 3)[0][0]; // ERROR: excess elements
    x[5] = float2x2(1, 2, 3, 4)[0][0];
}
