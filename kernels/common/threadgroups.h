/* What kernels promise of their launch, for compilers that can use it. */
#ifndef INGOT_KERNELS_COMMON_THREADGROUPS_H
#define INGOT_KERNELS_COMMON_THREADGROUPS_H

/* Says that a kernel is launched with whole SIMD-groups, so that what all of a threadgroup's reduce
 * alike is the same in all, and may decide about a barrier; and that large kernels need no masks on
 * CPUs. */
inline void whole_simdgroups() {
#ifdef __INGOT__
    __ingot_whole_simdgroups();
#endif
}

/* Says that a kernel is launched with exactly the threads that it may have at most. */
inline void full_threadgroups() {
#ifdef __INGOT__
    __ingot_full_threadgroups();
#endif
}

#endif
