/* What kernels promise of their launch, for compilers that can use it. */
#ifndef INGOT_KERNELS_COMMON_THREADGROUPS_H
#define INGOT_KERNELS_COMMON_THREADGROUPS_H

/* Says that a kernel is launched with exactly the threads that it may have at most. */
inline void full_threadgroups() {
#ifdef __INGOT__
    __ingot_full_threadgroups();
#endif
}

#endif
