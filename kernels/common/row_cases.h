/* What the cases of row operations share. n[0] = rows, n[1] = columns, n[2] = elements from row to
 * row (0: dense), n[3] = elements before the first. */
#ifndef INGOT_KERNELS_COMMON_ROW_CASES_H
#define INGOT_KERNELS_COMMON_ROW_CASES_H

#include <math.h>
#include <stdlib.h>

#include "harness/harness.h"

enum { ROW_STRIDE = 2, ROW_FIRST };

/* Big enough a stride that the third row starts past 2^31 elements. */
#define ROW_FAR ((int64_t)1 << 30)

static inline void row_place(struct igh_run *run, int slot) {
    const int64_t *n = run->test->n;
    if (n[ROW_STRIDE]) {
        igh_strides(run, slot, (const int64_t[]){n[ROW_STRIDE], 1}, n[ROW_FIRST]);
    }
}

static inline void row_input(struct igh_run *run, int slot, const char *name,
                             struct igh_fill fill) {
    igh_input(run, slot, name, run->type, 2, run->test->n, fill);
    row_place(run, slot);
}

static inline void row_output(struct igh_run *run, int slot, const char *name) {
    igh_output(run, slot, name, run->type, 2, run->test->n);
    row_place(run, slot);
}

/* Values for an input now, for inputs that are made from them; not in runs for speed. */
static inline void row_set_random(struct igh_run *run, int slot) {
    int64_t count = igh_count(run, slot);
    double *values = run->for_speed ? NULL : malloc(((size_t)count + 1) * sizeof *values);
    for (int64_t i = 0; values && i < count; i++) {
        values[i] = 4 * igh_random(run) - 2;
    }
    if (values) {
        igh_set(run, slot, values, false);
    }
    free(values);
}

/* The result: in the memory of an input, or an output of its own. */
static inline void row_result(struct igh_run *run, bool in_place, int input, int output,
                              const char *name) {
    if (in_place) {
        run->slots[input].output = true;
    } else {
        row_output(run, output, name);
    }
}

static inline double row_element_bytes(const struct igh_run *run) {
    return run->type == INGOT_SCALAR_F32 ? 4 : 2;
}

/* Of a call that reads or writes `tensors` of the slot's size, with `flops` per element. */
static inline void row_cost(const struct igh_run *run, int slot, double tensors, double flops_each,
                            double *bytes, double *flops) {
    double n = (double)igh_count(run, slot);
    *bytes = tensors * n * row_element_bytes(run);
    *flops = flops_each * n;
}

/* Float32: some ulps and a part of sqrt(terms) of them; the halves: rounding and one ulp. */
static inline double row_ulps(const struct igh_run *run, double terms) {
    return run->type == INGOT_SCALAR_F32 ? 3 + sqrt(terms) / 16 : 1.5;
}

#define ROW_EPSILON 0x1p-24

/* What every table of cases begins with, and sizes for GPUs. */
#define ROW_SMALLEST_CASES                                                                         \
    {.name = "0x8", .n = {0, 8}}, {.name = "3x0", .n = {3, 0}}, {.name = "1x1", .n = {1, 1}},      \
        {.name = "narrow 600x23 apart", .n = {600, 23, 29, 3}},                                    \
        {.name = "narrow 77x32", .n = {77, 32}, .uses = IGH_CHECK | IGH_SPECIALS}, {               \
        .name = "5x7", .n = {5, 7}, .uses = IGH_CHECK | IGH_SPECIALS                               \
    }
#define ROW_LARGE_CASES                                                                            \
    {.name = "large 8192x4096", .n = {8192, 4096}, .uses = IGH_LARGE, .types = IGH_F32_BF16},      \
        {.name = "large 32768x8192",                                                               \
         .n = {32768, 8192},                                                                       \
         .uses = IGH_LARGE,                                                                        \
         .types = IGH_F32_BF16},                                                                   \
    {                                                                                              \
        .name = "large 65536x1024", .n = {65536, 1024}, .uses = IGH_LARGE, .types = IGH_F32_BF16   \
    }

static const char *const row_size_names[] = {"rows", "row", "row_stride", "first", NULL};

#endif
