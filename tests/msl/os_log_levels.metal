// Every level of os_log, and vectors in a format.
// RUN: kernel=k threads=1 group=1
// ARG 0: f32[1]
// EXPECT-LOG: debug 1
// EXPECT-LOG: fault 2.500000,3.500000,4.500000,5.500000
#include <metal_logging>
#include <metal_stdlib>
using namespace metal;

kernel void k(device float *out [[buffer(0)]]) {
    os_log_default.log_debug("debug %d", 1);
    os_log_default.log_fault("fault %v4f", float4(2.5, 3.5, 4.5, 5.5));
    out[0] = 1;
}
