// A negative index, by a template's argument.
// RUN: kernel=k threads=1 group=1
// ARG 0: i32[1]
// EXPECT-STATUS: INGOT_COMPILE_ERROR
// EXPECT-ERROR: error: a kernel parameter must be numbered from 0 to 63
#include <metal_stdlib>
using namespace metal;

template <int N> kernel void numbered(device int *x [[buffer(N - 3)]]) { x[0] = N; }
template [[host_name("k")]] kernel void numbered<2>(device int *);
