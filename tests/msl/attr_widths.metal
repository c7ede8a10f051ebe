// Built-ins arrive in whatever integer width the kernel asks for.
// RUN: kernel=k threads=40 group=20
// ARG 0: u32[40]
// EXPECT 0: u32[40] = i + 1000 * (i % 20) + 100000 * idiv(i, 20) + 1000000 * 20
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], ushort i [[thread_position_in_grid]],
              ushort2 t [[thread_position_in_threadgroup]], ushort3 g [[threadgroup_position_in_grid]],
              ushort n [[threads_per_threadgroup]]) {
    x[i] = uint(i) + 1000 * t.x + 100000 * g.x + 1000000 * uint(n) + t.y + g.y + g.z;
}
