// A loop that looks at what it copied in the turn before, before the barrier of this one.
// NEVER: cp\.async
// WANT: st\.shared\.v4
#include <metal_stdlib>
using namespace metal;

kernel void async_not_looked_at(device const uint4 *x, device uint4 *y, constant uint &panels,
                                threadgroup uint4 *even [[threadgroup(0)]],
                                threadgroup uint4 *odd [[threadgroup(1)]],
                                uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint4 *now = even, *next = odd;
    uint4 sum = 0;
    for (uint p = 0; p < panels; p++) {
        sum += now[t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        next[t] = x[p * 64 + t];
        sum += now[63 - t];
        threadgroup uint4 *used = now;
        now = next;
        next = used;
    }
    y[t] = sum;
}
