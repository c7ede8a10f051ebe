// host_name on a kernel that is no template.
// RUN: kernel=other threads=2 group=2
// ARG 0: i32[2]
// EXPECT 0: i32 [9 9]
#include <metal_stdlib>
using namespace metal;

[[host_name("other")]] [[kernel]] void inner(device int *x [[buffer(0)]], uint i [[thread_position_in_grid]]) { x[i] = 9; }
