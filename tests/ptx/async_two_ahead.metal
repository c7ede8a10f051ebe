// Three places in turn: what is copied in one turn is read two turns later, and not waited for at
// the barrier between.
// WANT: cp\.async\.cg\.shared\.global \[%r[0-9]+\], \[%rd[0-9]+\], 16;
// WANT: cp\.async\.commit_group
// WANT: cp\.async\.wait_group 1
// WANT: cp\.async\.wait_all
// NEVER: ld\.global
// NEVER: st\.shared
#include <metal_stdlib>
using namespace metal;

kernel void async_two_ahead(device const uint4 *x, device uint4 *y, constant uint &panels,
                            threadgroup uint4 *first [[threadgroup(0)]],
                            threadgroup uint4 *second [[threadgroup(1)]],
                            threadgroup uint4 *third [[threadgroup(2)]],
                            uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint4 *now = first, *next = second, *last = third;
    uint4 sum = 0;
    now[t] = x[t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    next[t] = x[64 + t];
    for (uint p = 2; p < panels; p++) {
        threadgroup_barrier(mem_flags::mem_threadgroup);
        last[t] = x[p * 64 + t];
        sum += now[63 - t];
        threadgroup uint4 *used = now;
        now = next;
        next = last;
        last = used;
    }
    threadgroup_barrier(mem_flags::mem_threadgroup);
    sum += now[63 - t];
    threadgroup_barrier(mem_flags::mem_threadgroup);
    y[t] = sum + next[63 - t];
}
