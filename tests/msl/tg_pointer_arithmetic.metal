// Threadgroup pointers that move, and a cast to another type.
// RUN: kernel=k threads=8 group=8
// ARG 0: u32[8]
// TG 0: 64
// EXPECT 0: u32[8] = (i < 4 ? 65536 * (2 * i + 1) + 2 * i : 0)
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], threadgroup uchar *raw [[threadgroup(0)]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup ushort *s = (threadgroup ushort *)(raw + 16);
    s[t] = t;
    threadgroup_barrier(mem_flags::mem_threadgroup);
    threadgroup uint *words = reinterpret_cast<threadgroup uint *>(s);
    x[t] = t < 4 ? words[t] : 0;
}
