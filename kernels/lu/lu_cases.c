/* The cases of lu and of solve. n = batch (-1: rank 2), rows, columns (lu) or right-hand sides
 * (solve), kind of matrix, and what info must be (-1: anything). */
#include <math.h>
#include <stdlib.h>

#include "common/matrices_cases.h"

enum { A, B, OUT, PIVOTS, INFO };
enum { IN_PLACE = 1, NO_INFO = 2, TRANSPOSED = 4, FAR_APART = 8 };
#define F32 IGH_TYPE(INGOT_SCALAR_F32)

static const struct igh_case lu_cases[] = {
    {.name = "empty batch", .n = {0, 4, 4}},
    {.name = "0x5", .n = {3, 0, 5}},
    {.name = "1x1", .n = {-1, 1, 1}},
    {.name = "5 of 1x6", .n = {5, 1, 6}},
    {.name = "5 of 6x1", .n = {5, 6, 1}},
    {.name = "7 of 5x5", .n = {7, 5, 5}},
    {.name = "7 of 16x16 in place", .n = {7, 16, 16}, .flags = IN_PLACE},
    {.name = "3 of 30x64", .n = {3, 30, 64}},
    {.name = "3 of 64x30 no info", .n = {3, 64, 30}, .flags = NO_INFO},
    {.name = "3 of 33x33", .n = {3, 33, 33}},
    {.name = "2 of 6x5 far apart", .n = {2, 6, 5}, .flags = FAR_APART},
    {.name = "2 of 70x70 far apart", .n = {2, 70, 70}, .flags = FAR_APART},
    {.name = "3 of 47x47 transposed input", .n = {3, 47, 47}, .flags = TRANSPOSED},
    {.name = "3 of 64x64", .n = {3, 64, 64}},
    {.name = "3 of 65x65", .n = {3, 65, 65}},
    {.name = "3 of 100x100 in place", .n = {3, 100, 100}, .flags = IN_PLACE},
    {.name = "2 of 150x70", .n = {2, 150, 70}},
    {.name = "2 of 70x150 no info", .n = {2, 70, 150}, .flags = NO_INFO},
    {.name = "2 of 20x200", .n = {2, 20, 200}},
    {.name = "2 of 200x20", .n = {2, 200, 20}},
    {.name = "256x256", .n = {-1, 256, 256}},
    {.name = "448x60", .n = {-1, 448, 60}, .types = F32},
    {.name = "2 of 449x60", .n = {2, 449, 60}},
    {.name = "450x450", .n = {-1, 450, 450}, .types = F32},
    {.name = "60x1100", .n = {-1, 60, 1100}, .types = F32},
    {.name = "500x700 no info", .n = {-1, 500, 700}, .flags = NO_INFO, .types = F32},
    {.name = "2 of 1024x40", .n = {2, 1024, 40}, .types = F32},
    {.name = "2 of 1025x40", .n = {2, 1025, 40}, .types = F32},
    {.name = "2048x33", .n = {-1, 2048, 33}, .types = F32},
    {.name = "2049x70", .n = {-1, 2049, 70}, .types = F32},
    {.name = "4096x40", .n = {-1, 4096, 40}, .types = F32},
    {.name = "4097x40", .n = {-1, 4097, 40}, .types = F32},
    {.name = "2 of 460x100 low rank", .n = {2, 460, 100, IGH_MATRIX_LOW_RANK, -1}, .types = F32},
    {.name = "2 of 460x90 zero", .n = {2, 460, 90, IGH_MATRIX_ZERO, 1}, .types = F32},
    {.name = "2 of 460x92 ones", .n = {2, 460, 92, IGH_MATRIX_ONES, 2}, .types = F32},
    {.name = "3 of 20x20 tiny", .n = {3, 20, 20, IGH_MATRIX_TINY}, .types = F32},
    {.name = "3 of 70x70 tiny", .n = {3, 70, 70, IGH_MATRIX_TINY}, .types = F32},
    {.name = "3 of 20x20 huge", .n = {3, 20, 20, IGH_MATRIX_HUGE}, .types = F32},
    {.name = "3 of 70x70 huge", .n = {3, 70, 70, IGH_MATRIX_HUGE}, .types = F32},
    {.name = "3 of 40x40 graded", .n = {3, 40, 40, IGH_MATRIX_GRADED}, .types = F32},
    {.name = "3 of 80x80 graded", .n = {3, 80, 80, IGH_MATRIX_GRADED}, .types = F32},
    {.name = "3 of 40x40 low rank", .n = {3, 40, 40, IGH_MATRIX_LOW_RANK, -1}},
    {.name = "3 of 80x80 low rank", .n = {3, 80, 80, IGH_MATRIX_LOW_RANK, -1}},
    {.name = "3 of 10x10 zero", .n = {3, 10, 10, IGH_MATRIX_ZERO, 1}},
    {.name = "3 of 90x90 zero", .n = {3, 90, 90, IGH_MATRIX_ZERO, 1}},
    {.name = "3 of 12x12 ones", .n = {3, 12, 12, IGH_MATRIX_ONES, 2}},
    {.name = "3 of 92x92 ones", .n = {3, 92, 92, IGH_MATRIX_ONES, 2}},
    {.name = "3 of 40x40 zero columns", .n = {3, 40, 40, IGH_MATRIX_ZERO_COLUMNS, 1}},
    {.name = "3 of 40x40 identity", .n = {3, 40, 40, IGH_MATRIX_IDENTITY}},
    {.name = "3000 of 4x4", .n = {3000, 4, 4}},
    {.name = "33 of 16x16 in place", .n = {33, 16, 16}, .flags = IN_PLACE},
    {.name = "40 of 7x13", .n = {40, 7, 13}},
    {.name = "50 of 13x3", .n = {50, 13, 3}},
    {.name = "40 of 9x9 low rank", .n = {40, 9, 9, IGH_MATRIX_LOW_RANK, -1}},
    {.name = "40 of 5x5 zero columns", .n = {40, 5, 5, IGH_MATRIX_ZERO_COLUMNS, 1}},
    {.name = "4096 of 16x16", .n = {4096, 16, 16}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "4096 of 32x32", .n = {4096, 32, 32}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "1024 of 64x64", .n = {1024, 64, 64}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "64 of 256x256", .n = {64, 256, 256}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "1024x1024",
     .n = {-1, 1024, 1024},
     .uses = IGH_CHECK | IGH_BENCH | IGH_TUNE | IGH_SLOW,
     .types = F32},
};

static const struct igh_case solve_cases[] = {
    {.name = "empty batch", .n = {0, 4, 1}},
    {.name = "0x0", .n = {3, 0, 2}},
    {.name = "4x4, none", .n = {3, 4, 0}},
    {.name = "1x1", .n = {-1, 1, 1}},
    {.name = "7 of 3x3, 1", .n = {7, 3, 1}},
    {.name = "7 of 16x16, 1", .n = {7, 16, 1}},
    {.name = "7 of 16x16, 16 in place", .n = {7, 16, 16}, .flags = IN_PLACE},
    {.name = "5 of 32x32, 1", .n = {5, 32, 1}},
    {.name = "2 of 6x6, 3 far apart", .n = {2, 6, 3}, .flags = FAR_APART},
    {.name = "2 of 80x80, 3 far apart", .n = {2, 80, 3}, .flags = FAR_APART},
    {.name = "5 of 32x32, 33 transposed input", .n = {5, 32, 33}, .flags = TRANSPOSED},
    {.name = "5 of 45x45, 3 no info", .n = {5, 45, 3}, .flags = NO_INFO},
    {.name = "5 of 64x64, 70", .n = {5, 64, 70}},
    {.name = "3 of 65x65, 1", .n = {3, 65, 1}},
    {.name = "3 of 100x100, 40 in place", .n = {3, 100, 40}, .flags = IN_PLACE},
    {.name = "3 of 130x130, 5 no info", .n = {3, 130, 5}, .flags = NO_INFO},
    {.name = "256x256, 3", .n = {-1, 256, 3}},
    {.name = "2 of 448x448, 3", .n = {2, 448, 3}, .types = F32},
    {.name = "2 of 449x449, 3", .n = {2, 449, 3}, .types = F32},
    {.name = "480x480, 70 in place", .n = {-1, 480, 70}, .flags = IN_PLACE, .types = F32},
    {.name = "2 of 460x460, 2 ones", .n = {2, 460, 2, IGH_MATRIX_ONES, 2}, .types = F32},
    {.name = "3 of 20x20, 2 tiny", .n = {3, 20, 2, IGH_MATRIX_TINY}, .types = F32},
    {.name = "3 of 70x70, 2 huge", .n = {3, 70, 2, IGH_MATRIX_HUGE}, .types = F32},
    {.name = "3 of 40x40, 2 graded", .n = {3, 40, 2, IGH_MATRIX_GRADED}, .types = F32},
    {.name = "3 of 10x10, 3 zero", .n = {3, 10, 3, IGH_MATRIX_ZERO, 1}},
    {.name = "3 of 90x90, 3 zero", .n = {3, 90, 3, IGH_MATRIX_ZERO, 1}},
    {.name = "3 of 12x12, 1 ones", .n = {3, 12, 1, IGH_MATRIX_ONES, 2}},
    {.name = "3 of 92x92, 1 ones", .n = {3, 92, 1, IGH_MATRIX_ONES, 2}},
    {.name = "3000 of 4x4, 1", .n = {3000, 4, 1}, .types = F32},
    {.name = "45 of 7x7, 3 in place", .n = {45, 7, 3}, .flags = IN_PLACE},
    {.name = "64 of 13x13, 4 no info", .n = {64, 13, 4}, .flags = NO_INFO},
    {.name = "33 of 16x16, none", .n = {33, 16, 0}},
    {.name = "50 of 16x16, 2 graded", .n = {50, 16, 2, IGH_MATRIX_GRADED}, .types = F32},
    {.name = "50 of 15x15, 2 ones", .n = {50, 15, 2, IGH_MATRIX_ONES, 2}},
    {.name = "4096 of 16x16, 1", .n = {4096, 16, 1}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "4096 of 32x32, 1", .n = {4096, 32, 1}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "4096 of 32x32, 32", .n = {4096, 32, 32}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "1024 of 64x64, 1", .n = {1024, 64, 1}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "64 of 256x256, 1", .n = {64, 256, 1}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "1024x1024, 16",
     .n = {-1, 1024, 16},
     .uses = IGH_CHECK | IGH_BENCH | IGH_TUNE | IGH_SLOW,
     .types = F32},
};

static double raise(double worst, double value) { /* a NaN stays */
    return value <= worst ? worst : value;
}

static int64_t batch_of(const struct igh_run *run) {
    return run->test->n[0] < 0 ? 1 : run->test->n[0];
}

static double wrong_infos(struct igh_run *run) {
    if (run->test->flags & NO_INFO || run->test->n[4] < 0) {
        return 0;
    }
    double wrong = 0, *info = igh_got(run, INFO);
    for (int64_t b = 0; info && b < batch_of(run); b++) {
        wrong += info[b] != (double)run->test->n[4];
    }
    free(info);
    return info ? wrong : HUGE_VAL;
}

static void declare_a(struct igh_run *run, int64_t rows, int64_t columns) {
    const struct igh_case *c = run->test;
    igh_matrix_input(run, A, "a", c->n[0], rows, columns, (enum igh_matrix_kind)c->n[3]);
    if (c->flags & TRANSPOSED) {
        igh_strides(run, A, (const int64_t[]){rows * columns, 1, rows}, 0);
    }
    if (c->flags & FAR_APART) {
        igh_strides(run, A, (const int64_t[]){IGH_MATRIX_FAR, columns, 1}, 0);
    }
    if (!(c->flags & NO_INFO)) {
        igh_output(run, INFO, "info", INGOT_SCALAR_I32, c->n[0] < 0 ? 0 : 1, c->n);
    }
}

/* ---- lu ---- */

static void declare_lu(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t batch = c->n[0], m = c->n[1], n = c->n[2];
    const uint32_t skip = batch < 0;
    declare_a(run, m, n);
    if (c->flags & IN_PLACE) {
        run->slots[A].output = true;
    } else {
        igh_output(run, OUT, "lu", run->type, 3 - skip, (const int64_t[]){batch, m, n} + skip);
    }
    igh_output(run, PIVOTS, "pivots", INGOT_SCALAR_I32, 2 - skip,
               (const int64_t[]){batch, m < n ? m : n} + skip);
}

static ingot_status launch_lu(struct igh_run *run) {
    const ingot_lu_desc desc = {.a = igh_tensor(run, A),
                                .lu = igh_tensor(run, run->test->flags & IN_PLACE ? A : OUT),
                                .pivots = igh_tensor(run, PIVOTS),
                                .info = igh_tensor(run, INFO)};
    return ingot_op_lu(run->ops, run->stream, &desc);
}

/* |p a - l u| against |l| |u| column by column; the largest multiplier in *multiplier. */
static double lu_error(const double *a, const double *lu, const double *pivots, int64_t m,
                       int64_t n, double *scratch, double *multiplier) {
    const int64_t steps = m < n ? m : n;
    double *moved = scratch, *product = scratch + m * n;
    for (int64_t i = 0; i < m * n; i++) {
        moved[i] = a[i];
    }
    for (int64_t k = 0; k < steps; k++) {
        const int64_t p = (int64_t)pivots[k];
        if (p < k || p >= m) {
            return HUGE_VAL;
        }
        for (int64_t j = 0; j < n; j++) {
            double x = moved[k * n + j];
            moved[k * n + j] = moved[p * n + j];
            moved[p * n + j] = x;
        }
    }
    for (int64_t i = 0; i < m; i++) {
        for (int64_t j = 0; j < n; j++) {
            product[i * n + j] = i <= j ? lu[i * n + j] : 0;
        }
        for (int64_t l = 0; l < i && l < steps; l++) {
            const double x = lu[i * n + l];
            *multiplier = raise(*multiplier, fabs(x));
            for (int64_t j = l; j < n; j++) {
                product[i * n + j] += x * lu[l * n + j];
            }
        }
    }
    return igh_matrix_column_error(moved, product, m, n);
}

static void verify_lu(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t m = c->n[1], n = c->n[2], steps = m < n ? m : n;
    double *lu = igh_got(run, c->flags & IN_PLACE ? A : OUT), *pivots = igh_got(run, PIVOTS);
    double *scratch = malloc(sizeof *scratch * (size_t)(2 * m * n + 1));
    double worst = lu && pivots && scratch ? 0 : HUGE_VAL, multiplier = 0;
    for (int64_t b = 0; worst < HUGE_VAL && b < batch_of(run); b++) {
        worst = raise(worst, lu_error(igh_values(run, A) + b * m * n, lu + b * m * n,
                                      pivots + b * steps, m, n, scratch, &multiplier));
    }
    igh_metric(run, "p a = l u", worst, 2 * igh_matrix_bound(run, m > n ? m : n));
    igh_metric(run, "multipliers", multiplier, 1);
    igh_metric(run, "info", wrong_infos(run), 0);
    free(lu);
    free(pivots);
    free(scratch);
}

static void cost_lu(const struct igh_run *run, double *bytes, double *flops) {
    const double m = (double)run->test->n[1], n = (double)run->test->n[2];
    *bytes = (double)batch_of(run) * 2 * m * n * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = (double)batch_of(run) * (m * n * n - n * n * n / 3);
}

/* ---- solve ---- */

static void declare_solve(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t batch = c->n[0], n = c->n[1], k = c->n[2];
    const uint32_t skip = batch < 0;
    const int64_t shape[] = {batch, n, k};
    const struct igh_fill fill = {IGH_NORMAL, 0, 1};
    declare_a(run, n, n);
    if (c->flags & IN_PLACE) {
        igh_inout(run, B, "b", run->type, 3 - skip, shape + skip, fill);
    } else {
        igh_input(run, B, "b", run->type, 3 - skip, shape + skip, fill);
        igh_output(run, OUT, "x", run->type, 3 - skip, shape + skip);
    }
}

static ingot_status launch_solve(struct igh_run *run) {
    const ingot_solve_desc desc = {.a = igh_tensor(run, A),
                                   .b = igh_tensor(run, B),
                                   .x = igh_tensor(run, run->test->flags & IN_PLACE ? B : OUT),
                                   .info = igh_tensor(run, INFO)};
    return ingot_op_solve(run->ops, run->stream, &desc);
}

/* |a x - b| against |a| |x| + |b|, with the elements' absolute values. */
static double solve_error(const double *a, const double *b, const double *x, int64_t n, int64_t k) {
    double worst = 0;
    for (int64_t c = 0; c < k; c++) {
        double apart = 0, size = 0;
        for (int64_t i = 0; i < n; i++) {
            double sum = 0, sizes = fabs(b[i * k + c]);
            for (int64_t j = 0; j < n; j++) {
                sum += a[i * n + j] * x[j * k + c];
                sizes += fabs(a[i * n + j] * x[j * k + c]);
            }
            apart += (sum - b[i * k + c]) * (sum - b[i * k + c]);
            size += sizes * sizes;
        }
        worst = raise(worst, size > 0 ? sqrt(apart / size) : sqrt(apart));
    }
    return worst;
}

static void verify_solve(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t n = c->n[1], k = c->n[2];
    double *x = igh_got(run, c->flags & IN_PLACE ? B : OUT);
    double worst = x ? 0 : HUGE_VAL;
    for (int64_t b = 0; x && b < batch_of(run); b++) {
        if (c->n[4] > 0) { /* singular: zero */
            for (int64_t i = 0; i < n * k; i++) {
                worst = raise(worst, fabs(x[b * n * k + i]));
            }
        } else {
            worst = raise(worst, solve_error(igh_values(run, A) + b * n * n,
                                             igh_values(run, B) + b * n * k, x + b * n * k, n, k));
        }
    }
    const double rounding = run->type == INGOT_SCALAR_F32 ? 0 : igh_ulp(run->type, 1);
    igh_metric(run, "a x = b", worst, 1e-6 * sqrt((double)(n > 1 ? n : 1)) + rounding);
    igh_metric(run, "info", wrong_infos(run), 0);
    free(x);
}

static void cost_solve(const struct igh_run *run, double *bytes, double *flops) {
    const double n = (double)run->test->n[1], k = (double)run->test->n[2];
    *bytes = (double)batch_of(run) * (n * n + 2 * n * k) * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = (double)batch_of(run) * (2.0 / 3 * n * n * n + 2 * n * n * k);
}

static const struct igh_suite lu = {
    .operation = "lu",
    .types = IGH_FLOATS,
    IGH_CASES(lu_cases),
    .size_names = (const char *const[]){"batch", "m", "n", "kind", "info", NULL},
    .flag_names = (const char *const[]){"in place", "no info", "transposed", "far apart", NULL},
    .declare = declare_lu,
    .launch = launch_lu,
    .verify = verify_lu,
    .cost = cost_lu,
};

static const struct igh_suite solve = {
    .operation = "solve",
    .types = IGH_FLOATS,
    IGH_CASES(solve_cases),
    .size_names = (const char *const[]){"batch", "n", "k", "kind", "info", NULL},
    .flag_names = (const char *const[]){"in place", "no info", "transposed", "far apart", NULL},
    .declare = declare_solve,
    .launch = launch_solve,
    .verify = verify_solve,
    .cost = cost_solve,
};

static const struct igh_suite *const suites[] = {&lu, &solve};
const struct igh_suites igh_suites_lu = {suites, 2};
