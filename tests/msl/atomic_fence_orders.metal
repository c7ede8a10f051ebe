// Fences of every order and scope.
// RUN: kernel=k threads=64
// ARG 0: u32[64]
// EXPECT 0: u32[64] = i + 1
#include <metal_stdlib>
using namespace metal;

kernel void k(device uint *x [[buffer(0)]], uint i [[thread_position_in_grid]]) {
    x[i] = i;
    atomic_thread_fence(mem_flags::mem_device, memory_order_seq_cst);
    atomic_thread_fence(mem_flags::mem_device, memory_order_release, thread_scope_device);
    atomic_thread_fence(mem_flags::mem_device | mem_flags::mem_threadgroup, memory_order_acquire,
                        thread_scope_threadgroup);
    atomic_thread_fence(mem_flags::mem_threadgroup, memory_order_acq_rel, thread_scope_simdgroup);
    atomic_thread_fence(mem_flags::mem_none, memory_order_relaxed, thread_scope_thread);
    x[i] += 1;
}
