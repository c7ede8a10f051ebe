// Two buffers in turn: one is filled in the background while the other is read, also past the end
// of the source, and the copy is waited for before the barrier.
// WANT: cp\.async\.cg\.shared\.global \[%r[0-9]+\], \[%rd[0-9]+\], 16;
// WANT: cp\.async\.cg\.shared\.global \[%r[0-9]+\], \[%rd[0-9]+\], 16, %r[0-9]+;
// WANT: cp\.async\.wait_all
// NEVER: ld\.global
// NEVER: st\.shared
#include <metal_stdlib>
using namespace metal;

kernel void async_copies(device const uint4 *x, device uint4 *y, constant uint &panels,
                         constant uint &count, threadgroup uint4 *even [[threadgroup(0)]],
                         threadgroup uint4 *odd [[threadgroup(1)]],
                         uint t [[thread_index_in_threadgroup]]) {
    threadgroup uint4 guarded[64];
    threadgroup uint4 *now = even, *next = odd;
    uint4 sum = 0;
    now[t] = x[t];
    guarded[t] = t < count ? x[t + count] : uint4(0);
    threadgroup_barrier(mem_flags::mem_threadgroup);
    for (uint p = 1; p < panels; p++) {
        next[t] = x[p * 64 + t];
        sum += now[63 - t];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        threadgroup uint4 *used = now;
        now = next;
        next = used;
    }
    y[t] = sum + now[63 - t] + guarded[63 - t];
}
