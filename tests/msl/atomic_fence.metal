// Message passing between threads of a group through a fence and an atomic flag.
// RUN: kernel=k threads=64 group=64
// ARG 0: u32[64]
// EXPECT 0: u32[64] = 42
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint t [[thread_position_in_threadgroup]]) {
    threadgroup uint value;
    if (t == 63)
        value = 42;
    atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_seq_cst, thread_scope_threadgroup);
    threadgroup_barrier(mem_flags::mem_none);
    x[t] = value;
}
