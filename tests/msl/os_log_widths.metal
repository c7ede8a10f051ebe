// Widths and precisions are those of a line: printf would count to any number.
// RUN: kernel=k threads=1 group=1 limit=20
// ARG 0: i32[1]
// EXPECT-LOG: a=    7 b=007 c=1.25 d=0.5
#include <metal_stdlib>
using namespace metal;

#include <metal_logging>
kernel void k(device int *x [[buffer(0)]]) {
    os_log_default.log("a=%5d b=%03d c=%.2f d=%.1f e=%2000000000d f=%.2000000000f g=%-999999999999u",
                       7, 7, 1.25f, 0.5f, 1, 1.5f, 2u);
    x[0] = 1;
}
