/* Integers of fewer bits than a register, and their arithmetic (ptx_integer.c). */
#ifndef INGOT_TESTS_PTX_BITS_H
#define INGOT_TESTS_PTX_BITS_H

#include <stdbool.h>
#include <stdint.h>

#include "ptx.h"

static inline uint64_t mask_of(unsigned bits) {
    return bits >= 64 ? UINT64_MAX : ((uint64_t)1 << bits) - 1;
}

static inline int64_t extend(uint64_t value, unsigned bits) {
    unsigned shift = 64 - (bits < 64 ? bits : 64);
    return (int64_t)(value << shift) >> shift;
}

/* The smaller or the larger one, of signed or unsigned integers. */
uint64_t ptx_integer_minimum(bool smaller, struct ptx_type type, uint64_t a, uint64_t b);
/* False for an instruction that it does not know. */
bool ptx_integer_arithmetic(const struct ptx_instruction *in, const uint64_t v[4],
                            uint64_t *result);

#endif
