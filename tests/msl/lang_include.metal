// An include found through an option, and __has_include.
// OPTIONS: include=include
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[2]
// DEVICE: !metal: its compiler sees no files of the user
// EXPECT 0: i32 [42 7]
#include <metal_stdlib>
using namespace metal;

#include "helper.h"
kernel void k(device int *x [[buffer(0)]]) {
    x[0] = helper_value();
#if __has_include("helper.h") && !__has_include("nothing_of_that_name.h")
    x[1] = 7;
#endif
}
