// A loop that begins with its barrier: what is copied in one turn is waited for at the start of the
// next, and meanwhile a third place may be read.
// WANT: cp\.async\.cg\.shared\.global \[%r[0-9]+\], \[%rd[0-9]+\], 16;
// WANT: cp\.async\.wait_all
// NEVER: ld\.global
// NEVER: st\.shared
#include <metal_stdlib>
using namespace metal;

kernel void async_barrier_first(device const uint4 *x, device uint4 *y, constant uint &panels,
                                threadgroup uint4 *even [[threadgroup(0)]],
                                threadgroup uint4 *odd [[threadgroup(1)]],
                                threadgroup uint4 *always [[threadgroup(2)]],
                                uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint4 *now = even, *next = odd;
    uint4 sum = 0;
    always[t] = x[t];
    now[t] = x[64 + t];
    for (uint p = 1; p < panels; p++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        next[t] = x[(p + 1) * 64 + t];
        sum += now[63 - t] * always[t ^ 1];
        threadgroup uint4 *used = now;
        now = next;
        next = used;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = sum + now[63 - t];
}
