/*
 * A SIMD-group of a GPU, for tests without one: kernels for NVIDIA GPUs, as the LLVM IR that the
 * PTX is made from, run thread by thread. Threads take turns at random and never run in step, so
 * that lanes are together only where the program says so: an operation between lanes happens once
 * all the threads that its mask names (and that have not ended) have come to one of the same kind
 * with the same mask. A wait that nothing can end is an error.
 */
#ifndef INGOT_TESTS_WARP_H
#define INGOT_TESTS_WARP_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

enum { WARP_MAX_THREADS = 1024 };

/* Makes IR for this machine of IR for NVIDIA GPUs: the intrinsics become calls into warp.c. */
void warp_translate(const char *ir, FILE *out);

/* Runs threadgroup `group` of a one-dimensional grid; `kernel` takes the parameter block of
 * base/cuda_abi.h. False, with the reason printed, when threads wait for ever. */
bool warp_run(void (*kernel)(void *block), void *block, uint32_t group, uint32_t threads,
              uint64_t seed);

#endif
