/*
 * Barriers and fences.
 */
#pragma once
#include "ingot_traits.h"

namespace metal {
enum memory_order {
    memory_order_relaxed = 0,
    memory_order_acquire = 2,
    memory_order_release = 3,
    memory_order_acq_rel = 4,
    memory_order_seq_cst = 5,
};
/* thread_scope_system, value 3, is left for kernels to define, as they do. */
enum thread_scope {
    thread_scope_thread = 0,
    thread_scope_threadgroup = 1,
    thread_scope_device = 2,
    thread_scope_simdgroup = 4,
};

/* In a namespace of its own: its operators are found by argument only, and the functions also by
 * programs that name `metal::mem_flags` and do not use the namespace. */
namespace __ingot_flags {
enum class mem_flags : uint {
    mem_none = 0,
    mem_device = 1,
    mem_threadgroup = 2,
    mem_texture = 4,
    mem_threadgroup_imageblock = 8,
    mem_object_data = 16,
};
__ingot_inline constexpr mem_flags operator|(mem_flags a, mem_flags b) {
    return mem_flags(uint(a) | uint(b));
}
__ingot_inline constexpr mem_flags operator&(mem_flags a, mem_flags b) {
    return mem_flags(uint(a) & uint(b));
}
__ingot_inline void threadgroup_barrier(mem_flags flags) {
    __ingot_barrier(2, uint(flags));
}
__ingot_inline void threadgroup_barrier(mem_flags flags, thread_scope) {
    __ingot_barrier(2, uint(flags));
}
__ingot_inline void threadgroup_barrier(mem_flags flags, memory_order, thread_scope) {
    __ingot_barrier(2, uint(flags));
}
__ingot_inline void simdgroup_barrier(mem_flags flags) {
    __ingot_barrier(1, uint(flags));
}
__ingot_inline void simdgroup_barrier(mem_flags flags, thread_scope) {
    __ingot_barrier(1, uint(flags));
}
__ingot_inline void simdgroup_barrier(mem_flags flags, memory_order, thread_scope) {
    __ingot_barrier(1, uint(flags));
}
__ingot_inline void atomic_thread_fence(mem_flags flags, memory_order order,
                                        thread_scope scope = thread_scope_device) {
    __ingot_fence(uint(flags), uint(order), uint(scope));
}
} // namespace __ingot_flags
using __ingot_flags::atomic_thread_fence;
using __ingot_flags::mem_flags;
using __ingot_flags::simdgroup_barrier;
using __ingot_flags::threadgroup_barrier;
} // namespace metal
