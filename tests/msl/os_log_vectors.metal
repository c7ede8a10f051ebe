// Vectors in os_log: %v and the number of elements.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-LOG: 1.50,2.00,3.00,-4.00 and 7,8 then 9
// EXPECT-LOG: 1,2,255 ff,10
#include <metal_logging>
#include <metal_stdlib>
using namespace metal;

kernel void k(device int *x [[buffer(0)]]) {
    os_log_default.log("%.2v4f and %v2hd then %d", float4(1.5, 2, 3, -4), short2(7, 8), 9);
    os_log_default.log_info("%v3hhu %v2x", uchar3(1, 2, 255), uint2(255, 16));
    x[0] = 1;
}
