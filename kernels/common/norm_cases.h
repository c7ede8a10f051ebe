/* What the cases of norms share, on top of row_cases.h. */
#ifndef INGOT_KERNELS_COMMON_NORM_CASES_H
#define INGOT_KERNELS_COMMON_NORM_CASES_H

#include "common/row_cases.h"

/* Flags of every norm; others begin at NORM_OWN. */
enum { NO_WEIGHT = 1, WEIGHT_F32 = 2, SAVE = 4, IN_PLACE = 8, NORM_OWN = 16 };

static inline ingot_scalar_type norm_weight_type(const struct igh_run *run) {
    return run->test->flags & WEIGHT_F32 ? INGOT_SCALAR_F32 : run->type;
}

static inline void norm_weight(struct igh_run *run, int slot) {
    if (!(run->test->flags & NO_WEIGHT)) {
        igh_input(run, slot, "weight", norm_weight_type(run), 1, run->test->n + 1,
                  (struct igh_fill){IGH_NORMAL, 1, 0.25});
    }
}

/* A gradient along the row. */
static inline void norm_gradient(struct igh_run *run, int slot, const char *name) {
    igh_output(run, slot, name, norm_weight_type(run), 1, run->test->n + 1);
}

/* f[0] and f[1]: the mean and the deviation of x. */
static inline void norm_x(struct igh_run *run, int slot) {
    const double *f = run->test->f;
    row_input(run, slot, "x", (struct igh_fill){IGH_NORMAL, f[0], f[1] == 0 ? 1 : f[1]});
}

/* 1 / sqrt(mean(x * x) + eps) of a row */
static inline double rms_rstd(const double *x, int64_t columns) {
    double sum = 0;
    for (int64_t c = 0; c < columns; c++) {
        sum += x[c] * x[c];
    }
    return 1 / sqrt(sum / (double)columns + (double)1e-6f);
}

/* dx is a difference of numbers around 1 times rstd, dweight a sum of such numbers: where they
 * cancel, the few float32 roundings of these count, for the sum, whose size is a few sqrt(rows) on
 * its way, sqrt(rows) times. With one column the true dx is next to 0, and all of it is rounding.
 * `x`: the slot of what was normalised. */
static inline struct igh_bound rms_bound_backward(const struct igh_run *run, int x,
                                                  bool of_weight) {
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    double terms = (double)(of_weight ? rows : columns), scale = 1;
    for (int64_t r = 0; r < rows && !of_weight; r++) {
        scale = fmax(scale, rms_rstd(igh_values(run, x) + r * columns, columns));
    }
    return (struct igh_bound){.ulps = row_ulps(run, terms),
                              .absolute = ROW_EPSILON * (of_weight ? 16 * sqrt(terms) : 6 * scale)};
}

#endif
