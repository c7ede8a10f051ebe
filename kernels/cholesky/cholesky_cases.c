/* The cases of cholesky. n = batch (-1: rank 2), n, which matrix, first bad pivot (from 1, 0 =
 * none). The triangle that must not be read holds 777. */
#include <math.h>
#include <stdlib.h>

#include "common/matrices_cases.h"

enum { A, FACTOR, INFO };
enum { UPPER = 1, NO_INFO = 2, IN_PLACE = 4, TRANSPOSED = 8, FAR_APART = 16 };
enum { POSITIVE, SMALL_NUMBERS, LARGE_NUMBERS, GRADED, ZERO, ONES };
#define F32 IGH_TYPE(INGOT_SCALAR_F32)

static const struct igh_case cases[] = {
    {.name = "empty batch", .n = {0, 4}},
    {.name = "0x0", .n = {3, 0}},
    {.name = "1x1", .n = {-1, 1}},
    {.name = "5 of 2x2", .n = {5, 2}},
    {.name = "5 of 3x3 upper", .n = {5, 3}, .flags = UPPER},
    {.name = "7 of 16x16", .n = {7, 16}},
    {.name = "7 of 16x16 upper", .n = {7, 16}, .flags = UPPER},
    {.name = "3 of 31x31", .n = {3, 31}},
    {.name = "3 of 32x32 in place", .n = {3, 32}, .flags = IN_PLACE},
    {.name = "3 of 33x33 no info", .n = {3, 33}, .flags = NO_INFO},
    {.name = "3 of 50x50 transposed input", .n = {3, 50}, .flags = TRANSPOSED},
    {.name = "2 of 6x6 far apart", .n = {2, 6}, .flags = FAR_APART},
    {.name = "2 of 70x70 far apart", .n = {2, 70}, .flags = FAR_APART},
    {.name = "3 of 63x63 upper", .n = {3, 63}, .flags = UPPER},
    {.name = "3 of 64x64", .n = {3, 64}},
    {.name = "3 of 65x65", .n = {3, 65}},
    {.name = "3 of 65x65 upper in place", .n = {3, 65}, .flags = UPPER | IN_PLACE},
    {.name = "3 of 96x96 in place", .n = {3, 96}, .flags = IN_PLACE},
    {.name = "2 of 100x100 no info", .n = {2, 100}, .flags = NO_INFO},
    {.name = "2 of 200x200 upper transposed input", .n = {2, 200}, .flags = UPPER | TRANSPOSED},
    {.name = "2 of 250x250", .n = {2, 250}},
    {.name = "2 of 256x256 upper", .n = {2, 256}, .flags = UPPER, .types = F32},
    {.name = "2 of 257x257", .n = {2, 257}},
    {.name = "2 of 320x320 upper in place", .n = {2, 320}, .flags = UPPER | IN_PLACE, .types = F32},
    {.name = "2 of 300x300 graded", .n = {2, 300, GRADED}, .types = F32},
    {.name = "300x300 small numbers", .n = {1, 300, SMALL_NUMBERS}, .types = F32},
    {.name = "300x300 large numbers", .n = {1, 300, LARGE_NUMBERS}, .types = F32},
    {.name = "2 of 290x290 ones", .n = {2, 290, ONES, 2}, .types = F32},
    {.name = "3 of 300x300 bad pivot 33", .n = {3, 300, POSITIVE, 33}, .types = F32},
    {.name = "3 of 300x300 bad pivot 290 upper",
     .n = {3, 300, POSITIVE, 290},
     .flags = UPPER,
     .types = F32},
    {.name = "2 of 20x20 small numbers", .n = {2, 20, SMALL_NUMBERS}, .types = F32},
    {.name = "2 of 70x70 small numbers", .n = {2, 70, SMALL_NUMBERS}, .types = F32},
    {.name = "2 of 20x20 large numbers", .n = {2, 20, LARGE_NUMBERS}, .types = F32},
    {.name = "2 of 70x70 large numbers", .n = {2, 70, LARGE_NUMBERS}, .types = F32},
    {.name = "2 of 40x40 graded", .n = {2, 40, GRADED}, .types = F32},
    {.name = "2 of 90x90 graded", .n = {2, 90, GRADED}, .types = F32},
    {.name = "2 of 10x10 zero", .n = {2, 10, ZERO, 1}},
    {.name = "2 of 80x80 zero", .n = {2, 80, ZERO, 1}},
    {.name = "2 of 20x20 ones", .n = {2, 20, ONES, 2}},
    {.name = "2 of 100x100 ones", .n = {2, 100, ONES, 2}},
    {.name = "3 of 30x30 bad pivot 20", .n = {3, 30, POSITIVE, 20}},
    {.name = "3 of 60x60 bad pivot 37 upper", .n = {3, 60, POSITIVE, 37}, .flags = UPPER},
    {.name = "3 of 130x130 bad pivot 71", .n = {3, 130, POSITIVE, 71}},
    {.name = "3000 of 5x5", .n = {3000, 5}},
    {.name = "45 of 7x7 upper in place", .n = {45, 7}, .flags = UPPER | IN_PLACE},
    {.name = "65 of 16x16 in place", .n = {65, 16}, .flags = IN_PLACE},
    {.name = "40 of 13x13 no info", .n = {40, 13}, .flags = NO_INFO},
    {.name = "40 of 15x15 bad pivot 9", .n = {40, 15, POSITIVE, 9}},
    {.name = "40 of 12x12 ones", .n = {40, 12, ONES, 2}},
    {.name = "40 of 14x14 graded", .n = {40, 14, GRADED}, .types = F32},
    {.name = "4096 of 16x16", .n = {4096, 16}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "4096 of 32x32", .n = {4096, 32}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "1024 of 64x64", .n = {1024, 64}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "64 of 256x256", .n = {64, 256}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "1024x1024",
     .n = {-1, 1024},
     .uses = IGH_CHECK | IGH_BENCH | IGH_TUNE | IGH_SLOW,
     .types = F32},
};

static double grade(int64_t kind, int64_t i, int64_t n) {
    switch (kind) {
    case SMALL_NUMBERS:
        return 1e-15;
    case LARGE_NUMBERS:
        return 1e15;
    case GRADED:
        return pow(10, -6 + 12.0 * (double)i / (double)n);
    default:
        return 1;
    }
}

/* Turns the normal or positive matrix in `a` into the case's. */
static void shape_matrix(const struct igh_case *c, double *a) {
    const int64_t n = c->n[1], bad = c->n[3];
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            double *x = &a[i * n + j];
            *x *= grade(c->n[2], i, n) * grade(c->n[2], j, n);
            if (c->n[2] == ZERO || c->n[2] == ONES) {
                *x = c->n[2] == ONES;
            }
            if (c->n[2] == POSITIVE && bad && i == j && i == bad - 1) {
                *x = -0.5;
            }
            if (c->flags & UPPER ? j < i : j > i) {
                *x = 777;
            }
        }
    }
}

static void declare(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t batch = c->n[0], n = c->n[1], count = batch < 0 ? 1 : batch;
    const uint32_t skip = batch < 0, rank = 3 - skip;
    const int64_t shape[] = {batch, n, n};
    igh_matrix_input(run, A, "a", batch, n, n, IGH_MATRIX_POSITIVE);
    if (!run->for_speed) {
        double *values = malloc(sizeof *values * (size_t)(count * n * n + 1));
        if (!values) {
            ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for a matrix");
            return;
        }
        for (int64_t i = 0; i < count * n * n; i++) {
            values[i] = run->slots[A].values ? run->slots[A].values[i] : 0;
        }
        for (int64_t b = 0; b < count; b++) {
            shape_matrix(c, values + b * n * n);
        }
        if (c->flags & TRANSPOSED) {
            igh_strides(run, A, (const int64_t[]){n * n, 1, n}, 0);
        }
        if (c->flags & FAR_APART) {
            igh_strides(run, A, (const int64_t[]){IGH_MATRIX_FAR, n, 1}, 0);
        }
        igh_set(run, A, values, false);
        free(values);
    }
    if (c->flags & IN_PLACE) {
        run->slots[A].output = true;
    } else {
        igh_output(run, FACTOR, "factor", run->type, rank, shape + skip);
    }
    if (!(c->flags & NO_INFO)) {
        igh_output(run, INFO, "info", INGOT_SCALAR_I32, rank - 2, shape);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_cholesky_desc desc = {.a = igh_tensor(run, A),
                                      .factor =
                                          igh_tensor(run, run->test->flags & IN_PLACE ? A : FACTOR),
                                      .info = igh_tensor(run, INFO),
                                      .upper = run->test->flags & UPPER};
    return ingot_op_cholesky(run->ops, run->stream, &desc);
}

/* How far the factor's leading k x k part is from a's, relative to sqrt(a_ii a_jj); and the largest
 * element where zero must be. */
static double residual(const double *a, const double *f, int64_t n, int64_t k, bool upper,
                       double *zeros) {
    double worst = 0;
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const int64_t row = upper ? i : j, column = upper ? j : i; /* in u */
            const double x = f[i * n + j];
            if (column < row || row >= k) {
                *zeros = fabs(x) <= *zeros ? *zeros : fabs(x);
            }
            if (column < row || row >= k || column >= k) {
                continue;
            }
            double sum = 0;
            for (int64_t p = 0; p <= row; p++) {
                sum +=
                    upper ? f[p * n + row] * f[p * n + column] : f[row * n + p] * f[column * n + p];
            }
            double e = fabs(sum - a[i * n + j]) / sqrt(a[i * n + i] * a[j * n + j]);
            worst = e <= worst ? worst : e;
        }
    }
    return worst;
}

static void verify(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t batch = c->n[0] < 0 ? 1 : c->n[0], n = c->n[1], bad = c->n[3];
    double *factor = igh_got(run, c->flags & IN_PLACE ? A : FACTOR);
    double *info = c->flags & NO_INFO ? NULL : igh_got(run, INFO);
    double worst = factor ? 0 : HUGE_VAL, zeros = 0, wrong = 0;
    for (int64_t b = 0; factor && b < batch; b++) {
        double e = residual(igh_values(run, A) + b * n * n, factor + b * n * n, n,
                            bad ? bad - 1 : n, c->flags & UPPER, &zeros);
        worst = e <= worst ? worst : e;
        if (info) {
            wrong += info[b] != (double)bad;
        }
    }
    igh_metric(run, "a = l l'", worst, igh_matrix_bound(run, n));
    igh_metric(run, "zeros", zeros, 0);
    igh_metric(run, "info", wrong, 0);
    free(factor);
    free(info);
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    const double batch = (double)(run->test->n[0] < 0 ? 1 : run->test->n[0]);
    const double n = (double)run->test->n[1];
    *bytes = batch * n * n * 1.5 * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = batch * n * n * n / 3;
}

static const struct igh_suite cholesky = {
    .operation = "cholesky",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = (const char *const[]){"batch", "n", "kind", "bad pivot", NULL},
    .flag_names =
        (const char *const[]){"upper", "no info", "in place", "transposed", "far apart", NULL},
    .declare = declare,
    .launch = launch,
    .verify = verify,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&cholesky};
const struct igh_suites igh_suites_cholesky = {suites, 1};
