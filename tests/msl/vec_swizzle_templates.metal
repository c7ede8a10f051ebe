// Swizzles read, written and combined inside templates; packed vectors in arithmetic.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32 [1 2 3 4]
// ARG 1: f32[12]
// EXPECT 1: f32 [3 8 6 7 5 8 3 2 7 9 11 2]
#include <metal_stdlib>
using namespace metal;

template <typename T> vec<T, 4> turn(vec<T, 4> v) {
    v.xy *= v.zw;
    v.zw = v.zw + v.ww - 1;
    v.z -= v.x - 3;
    return v;
}
template <typename T> vec<T, 2> mix_halves(vec<T, 4> v) {
    auto q = v.xy * v.xx + v.zw;
    q.y -= 2 - v.y;
    return q.xy;
}
kernel void k(device const float4 *x [[buffer(0)]], device float *o [[buffer(1)]]) {
    float4 v = turn(x[0]);
    float2 q = mix_halves(float4(1, 2, 4, 6));
    packed_float3 p = packed_float3(1, 2, 3), r = p * 2 + p + float3(4, 3, 2);
    o[0] = v.x;
    o[1] = v.y;
    o[2] = v.z;
    o[3] = v.w;
    o[4] = q.x;
    o[5] = q.y;
    p.xz = p.zy;
    o[6] = p.x;
    o[7] = p.z;
    o[8] = r.x;
    o[9] = r[1];
    o[10] = r.b;
    o[11] = p.zyx.z == 3 ? p.y : 0;
}
