// A wild address is an error of that launch, by name, and not the end of the process.
// RUN: kernel=wild threads=1 group=1
// ARG 0: u64[1]
// EXPECT-STATUS: INGOT_KERNEL_FAULT
// EXPECT-ERROR: wild
// RUN: kernel=fine threads=1 group=1
// ARG 0: u64[1]
// EXPECT 0: u64 [3]
#include <metal_stdlib>
using namespace metal;

kernel void wild(device ulong *x [[buffer(0)]]) {
    device ulong *p = reinterpret_cast<device ulong *>(x[0]);
    *p = 1; // FINDS: bounds
}
kernel void fine(device ulong *x [[buffer(0)]]) { x[0] = 3; }
