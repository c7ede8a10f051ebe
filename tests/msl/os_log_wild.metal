// A format or a string at a wild address is an error of the launch.
// RUN: kernel=string threads=8 group=8
// ARG 0: f32[8]
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// EXPECT-ERROR: "string"
// DEVICE: cpu: on a GPU a wild address ends the use of the device
// RUN: kernel=format threads=8 group=8
// ARG 0: f32[8]
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// EXPECT-ERROR: 0x8
// DEVICE: cpu: on a GPU a wild address ends the use of the device
#include <metal_stdlib>
#include <metal_logging>
using namespace metal;

kernel void string(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = 1;
    if (i == 3)
        os_log_default.log("%u %s", i, (const constant char *)8ul);
}
kernel void format(device float *out [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    out[i] = 1;
    if (i == 3)
        os_log_default.log((const constant char *)8ul, i);
}
