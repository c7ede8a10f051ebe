// Bits of one type as another.
// RUN: kernel=k threads=1 group=1
// ARG 0: u32[3]
// ARG 1: f32[2]
// EXPECT 0: u32 [1065353216 15360 4294967295]
// EXPECT 1: f32 [2 -1]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], device float *y [[buffer(1)]]) {
    x[0] = as_type<uint>(1.0f);
    x[1] = as_type<ushort>(1.0h);
    x[2] = as_type<uint>(-1);
    y[0] = as_type<float>(0x40000000u);
    y[1] = as_type<half>(ushort(0xbc00));
}
