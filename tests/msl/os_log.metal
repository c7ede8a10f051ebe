// Messages reach the host's log function.
// RUN: kernel=k threads=4 group=4
// ARG 0: i32[4]
// EXPECT-LOG: thread 2 has 2.5
// EXPECT-LOG: done
#include <metal_stdlib>
using namespace metal;

#include <metal_logging>
kernel void k(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    if (i == 2)
        os_log_default.log_info("thread %u has %f", i, float(i) + 0.5f);
    if (i == 3)
        os_log_default.log_error("done");
    x[i] = i;
}
