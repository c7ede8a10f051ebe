/* Which instructions of 64-bit Arm this machine has: Linux says so, names are not asked. */
#ifndef INGOT_BASE_ARM_LEVEL_H
#define INGOT_BASE_ARM_LEVEL_H

#if defined(__aarch64__) && defined(__linux__)
#include <stdbool.h>
#include <sys/auxv.h>

/* Level aarch64: the atomics of Armv8.1, half precision in scalars and in vectors. */
static inline bool ig_arm_has_halves(void) {
    const unsigned long needed = 1ul << 8 | 1ul << 9 | 1ul << 10;
    return (getauxval(AT_HWCAP) & needed) == needed;
}

/* Level aarch64-bf16, above that: products of half in float (FEAT_FHM), of matrices of 8-bit
 * integers (FEAT_I8MM) and of bfloat (FEAT_BF16). */
static inline bool ig_arm_has_matrices(void) {
    const unsigned long halves = 1ul << 23, matrices = 1ul << 13 | 1ul << 14;
    return getauxval(AT_HWCAP) & halves && (getauxval(AT_HWCAP2) & matrices) == matrices;
}
#endif

#endif
