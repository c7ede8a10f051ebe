/* PoCL as a competitor of bench/engine, through whatever OpenCL loader is installed. */
#ifndef INGOT_BENCH_OPENCL_H
#define INGOT_BENCH_OPENCL_H

#include "plain.h"

struct opencl;
struct opencl_kernel;

/* NULL, with a short reason, when there is no PoCL. threads 0: all cores. */
struct opencl *opencl_open(const char *source_path, unsigned threads, const char **why);
struct opencl_kernel *opencl_prepare(struct opencl *opencl, const struct bench_row *row,
                                     const char **why);
/* Enqueues the kernel `repeats` times and waits. */
bool opencl_run(struct opencl_kernel *kernel, const struct bench_row *row, size_t repeats);
void opencl_release(struct opencl_kernel *kernel);

#endif
