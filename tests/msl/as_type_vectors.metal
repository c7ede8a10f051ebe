// RUN: kernel=k threads=1 group=1
// ARG 0: u32[3]
// EXPECT 0: u32 [67305985 1006648320 4]
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]]) {
    x[0] = as_type<uint>(uchar4(1, 2, 3, 4));
    x[1] = as_type<uint>(half2(0.0h, 1.0h)) + as_type<ushort>(1.0h);
    x[2] = as_type<uchar4>(x[0]).w;
}
