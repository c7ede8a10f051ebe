#ifndef INGOT_KERNELS_FILL_ARGS_H
#define INGOT_KERNELS_FILL_ARGS_H

#include "common/args.h"

/* A SIMD-group fills `block` words of four bytes. */
struct fill_args {
    uint64_t words; /* whole ones */
    uint32_t block; /* a multiple of 128 */
    uint32_t bits;  /* of a word; both halves of it are the value when it has two bytes */
    uint32_t head;  /* 1: the second half of a word before them is filled too */
    uint32_t tail;  /* 1: the first half of a word after them */
};

#endif
