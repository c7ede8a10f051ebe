// Functions that have no form for these arguments.
#include <metal_stdlib>
using namespace metal;
kernel void k(device float *x [[buffer(0)]], device int *n [[buffer(1)]]) {
    float private_values[64];
    float4 v = x[0];
    struct pair { float a, b; } both = {x[0], x[1]};
    simdgroup_float8x8 m;
    threadgroup_barrier(); // ERROR: no matching function for call to 'threadgroup_barrier'
    threadgroup_barrier(1); // ERROR: no matching function for call to 'threadgroup_barrier'
    threadgroup_barrier(mem_flags::mem_threadgroup | mem_flags::mem_device);
    x[0] = cross(v, v).x; // ERROR: no matching function for call to 'cross'
    x[0] = cross(v.xyz, v.xyz).x;
    x[1] = popcount(x[0]); // ERROR: no matching function for call to 'popcount'
    x[1] = clz(x[0]); // ERROR: no matching function for call to 'clz'
    x[1] = rotate(x[0], 2.0f); // ERROR: no matching function for call to 'rotate'
    x[1] = popcount(n[0]) + clz(n[0]) + rotate(n[0], 2);
    x[2] = simd_and(x[0]); // ERROR: no matching function for call to 'simd_and'
    x[2] = simd_shuffle(both, 1).a; // ERROR: no matching function for call to 'simd_shuffle'
    x[2] = simd_and(n[0]) + simd_shuffle(both.a, 1);
    simdgroup_load(m, private_values); // ERROR: no matching function for call to 'simdgroup_load'
    simdgroup_load(m, x);
    x[3] = v.xg.x; // ERROR: no member named 'xg'
    x[3] = v.xy.z; // ERROR: no member named 'z'
    x[3] = v.xyzwx.x; // ERROR: no member named 'xyzwx'
    x[3] = v.xy.y + v.rg.x + v.wzyx.x;
    x[4] = std::max(x[0], 1.0f); // ERROR: in namespace 'std'
    x[4] = metal::max(x[0], 1.0f);
}
