/* What a row of bench/engine computes: data that all competitors share, and a plain C loop. */
#ifndef INGOT_BENCH_PLAIN_H
#define INGOT_BENCH_PLAIN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BENCH_MAX_BUFFERS = 5, BENCH_MAX_SCALARS = 2 };

struct bench_buffer {
    void *data;
    size_t bytes;
};

union bench_scalar {
    float f;
    uint32_t u;
};

struct bench_row {
    const char *name;   /* in the table */
    const char *kernel; /* in kernels.metal and kernels.cl */
    struct bench_buffer buffers[BENCH_MAX_BUFFERS];
    union bench_scalar scalars[BENCH_MAX_SCALARS]; /* the arguments after the buffers */
    size_t buffer_count, scalar_count, output;     /* output: which buffer is compared */
    bool integers;                                 /* the output holds integers, not floats */
    double tolerance;                              /* relative, of floats */
    uint32_t groups[3], group[3];                  /* Metal threadgroups, threads of each */
    uint32_t cl_global[3], cl_local[3];            /* OpenCL work-items */
    size_t items;                                  /* what the plain loop is split by */
    double bytes;                                  /* read and written */
    double work;                                   /* elements or operations … */
    const char *unit;                              /* … of which this many billions a second */
    void (*plain)(const struct bench_row *row, size_t first, size_t last);
};

void plain_saxpy(const struct bench_row *row, size_t first, size_t last);
void plain_rms_norm(const struct bench_row *row, size_t first, size_t last);
void plain_softmax(const struct bench_row *row, size_t first, size_t last);
void plain_collatz(const struct bench_row *row, size_t first, size_t last);
void plain_matvec_q4(const struct bench_row *row, size_t first, size_t last);
void plain_matmul(const struct bench_row *row, size_t first, size_t last);

#endif
