// Integers of several widths, and a string in the format.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-LOG: a=-3 b=4000000000 c=1.250000 100%
#include <metal_stdlib>
using namespace metal;

#include <metal_logging>
kernel void k(device int *x [[buffer(0)]]) {
    os_log_default.log("a=%d b=%u c=%f 100%%", -3, 4000000000u, 1.25f);
    x[0] = 1;
}
