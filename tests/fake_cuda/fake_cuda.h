/*
 * How a test steers the fake CUDA driver (fake_cuda.c), which stands in for libcuda.so.1 when
 * $INGOT_CUDA_LIBRARY names it. It refuses what a driver does: objects that are gone, memory that
 * is not the device's, grids and threadgroup memory above the hardware's or what was asked for.
 * Memory is the host's, work runs when it is queued, and a kernel is PTX, which it executes
 * (ptx.h), or a C function: the "code" of a module is then text of which the first line is "// fake
 * NAME".
 */
#ifndef INGOT_TESTS_FAKE_CUDA_H
#define INGOT_TESTS_FAKE_CUDA_H

#include <stddef.h>

/* The driver result that the kernel ends with: 0, a fault such as 700, which the context keeps,
 * or 600 for a kernel that never ends. */
typedef int (*fake_cuda_kernel)(const void *block, const unsigned grid[3], unsigned threads,
                                unsigned dynamic_shared);

struct fake_cuda_control {
    void (*add_kernel)(const char *name, fake_cuda_kernel kernel);
    /* The nth call from now on (from 1) of e.g. "cuMemAlloc" gives `result`.
     * $FAKE_CUDA_FAIL=NAME:NTH:RESULT does the same from the start. */
    void (*fail)(const char *function, unsigned nth, int result);
    /* The calls since the last clear_log, a line each. */
    const char *(*log)(void);
    void (*clear_log)(void);
    /* Allocations, modules, streams and events that exist. */
    size_t (*live)(void);
    /* What fake kernels whose names start with "log" have for a log, and those with "stop" for
     * missed barriers (base/cuda_abi.h). */
    void *(*kernel_log)(void);
    /* Makes `context` the thread's, as another library would; returns the one it had. */
    void *(*exchange_context)(void *context);
    /* The host's memory that counts as page-locked: copies from there are noted, since a GPU reads
     * it later. */
    void (*lock_memory)(const void *memory, size_t size);
};

/* The library exports: const struct fake_cuda_control *fake_cuda_control(void); also
 * $FAKE_CUDA_DEVICES (1), $FAKE_CUDA_VERSION (13000), $FAKE_CUDA_CAPABILITY (90) and
 * $FAKE_CUDA_MAX_THREADS (1024), of a function; $FAKE_CUDA_CAPTURING=1: streams of other libraries
 * are captured, and calls that would spoil that are refused; with $FAKE_CUDA_FAULTS_STAY=1 a
 * process that had a fault gets no context any more, as from NVIDIA's driver; with $FAKE_CUDA_ANY=1
 * other code than fake kernels is taken too, and does nothing. */

#endif
