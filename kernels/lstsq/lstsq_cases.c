/* The cases of lstsq. n = batch (-1: rank 2), rows, columns, right-hand sides, kind of matrix, the
 * rank that must be found (-1: any). */
#include <math.h>
#include <stdlib.h>

#include "common/matrices_cases.h"

enum { A, B, X, RANK };
enum {
    UNIQUE = 1, /* well conditioned on its range: x itself is compared */
    NO_RANK = 2,
    TRANSPOSED = 4,
    FAR_APART = 8,
};
#define F32 IGH_TYPE(INGOT_SCALAR_F32)

static const struct igh_case cases[] = {
    {.name = "empty batch", .n = {0, 4, 3, 1}},
    {.name = "0 rows", .n = {3, 0, 3, 2}},
    {.name = "0 columns", .n = {3, 3, 0, 2}},
    {.name = "4x3, none", .n = {3, 4, 3, 0, 0, 3}},
    {.name = "1x1", .n = {-1, 1, 1, 1, IGH_MATRIX_ONES, 1}, .flags = UNIQUE},
    {.name = "5 of 1x7, 2", .n = {5, 1, 7, 2, 0, 1}, .flags = UNIQUE},
    {.name = "5 of 7x1, 2", .n = {5, 7, 1, 2, 0, 1}, .flags = UNIQUE},
    {.name = "5 of 20x5, 3", .n = {5, 20, 5, 3, 0, 5}, .flags = UNIQUE},
    {.name = "5 of 5x20, 3", .n = {5, 5, 20, 3, 0, 5}, .flags = UNIQUE},
    {.name = "5 of 16x16, 1", .n = {5, 16, 16, 1, IGH_MATRIX_DIAGONAL, 16}, .flags = UNIQUE},
    {.name = "5 of 60x33, 40", .n = {5, 60, 33, 40, 0, 33}},
    {.name = "5 of 33x60, 1 no rank", .n = {5, 33, 60, 1, 0, -1}, .flags = NO_RANK},
    {.name = "2 of 7x5, 2 far apart", .n = {2, 7, 5, 2, 0, 5}, .flags = FAR_APART},
    {.name = "3 of 40x50, 2 transposed input", .n = {3, 40, 50, 2, 0, 40}, .flags = TRANSPOSED},
    {.name = "3 of 200x40, 5", .n = {3, 200, 40, 5, 0, 40}, .flags = UNIQUE},
    {.name = "3 of 500x20, none", .n = {3, 500, 20, 0, 0, 20}},
    {.name = "2 of 40x200, 35", .n = {2, 40, 200, 35, 0, 40}, .flags = UNIQUE},
    {.name = "2 of 130x130, 3", .n = {2, 130, 130, 3, IGH_MATRIX_DIAGONAL, 130}, .flags = UNIQUE},
    {.name = "1000x100, 1", .n = {-1, 1000, 100, 1, 0, 100}, .flags = UNIQUE},
    {.name = "3 of 30x30, 2 low rank",
     .n = {3, 30, 30, 2, IGH_MATRIX_LOW_RANK, 15},
     .flags = UNIQUE,
     .types = F32},
    {.name = "3 of 60x24, 2 low rank",
     .n = {3, 60, 24, 2, IGH_MATRIX_LOW_RANK, 12},
     .flags = UNIQUE,
     .types = F32},
    {.name = "3 of 24x60, 2 low rank",
     .n = {3, 24, 60, 2, IGH_MATRIX_LOW_RANK, 12},
     .flags = UNIQUE,
     .types = F32},
    {.name = "2 of 300x80, 2 low rank",
     .n = {2, 300, 80, 2, IGH_MATRIX_LOW_RANK, 40},
     .flags = UNIQUE,
     .types = F32},
    {.name = "2 of 47x47, 3", .n = {2, 47, 47, 3, IGH_MATRIX_DIAGONAL, 47}, .flags = UNIQUE},
    {.name = "2 of 48x48, 3", .n = {2, 48, 48, 3, IGH_MATRIX_DIAGONAL, 48}, .flags = UNIQUE},
    {.name = "1100x60, 9", .n = {-1, 1100, 60, 9, 0, 60}, .flags = UNIQUE, .types = F32},
    {.name = "2 of 150x150, 2 low rank",
     .n = {2, 150, 150, 2, IGH_MATRIX_LOW_RANK, 75},
     .types = F32},
    {.name = "3 of 20x10, 2 zero", .n = {3, 20, 10, 2, IGH_MATRIX_ZERO, 0}, .flags = UNIQUE},
    {.name = "3 of 20x10, 2 ones", .n = {3, 20, 10, 2, IGH_MATRIX_ONES, 1}, .flags = UNIQUE},
    {.name = "3 of 10x20, 2 ones", .n = {3, 10, 20, 2, IGH_MATRIX_ONES, 1}, .flags = UNIQUE},
    {.name = "3 of 40x12, 2 zero columns",
     .n = {3, 40, 12, 2, IGH_MATRIX_ZERO_COLUMNS, 8},
     .flags = UNIQUE},
    {.name = "3 of 25x12, 2 tiny", .n = {3, 25, 12, 2, IGH_MATRIX_TINY, 12}, .types = F32},
    {.name = "3 of 25x12, 2 huge", .n = {3, 25, 12, 2, IGH_MATRIX_HUGE, 12}, .types = F32},
    {.name = "3 of 300x30, 2 huge", .n = {3, 300, 30, 2, IGH_MATRIX_HUGE, 30}, .types = F32},
    {.name = "3 of 40x20, 2 graded", .n = {3, 40, 20, 2, IGH_MATRIX_GRADED, -1}, .types = F32},
    {.name = "3 of 40x20, 2 mixed", .n = {3, 40, 20, 2, IGH_MATRIX_MIXED, 7}, .types = F32},
    {.name = "2 of 20x20, 1 Hilbert", .n = {2, 20, 20, 1, IGH_MATRIX_HILBERT, -1}, .types = F32},
    {.name = "1000 of 5x3, 1", .n = {1000, 5, 3, 1, 0, 3}, .types = F32},
    {.name = "4096 of 16x16, 1", .n = {4096, 16, 16, 1}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "1024 of 64x64, 1", .n = {1024, 64, 64, 1}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "16 of 256x256, 1", .n = {16, 256, 256, 1}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "4096x256, 1", .n = {-1, 4096, 256, 1}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "1024x1024, 1",
     .n = {-1, 1024, 1024, 1, 0, -1},
     .uses = IGH_CHECK | IGH_BENCH | IGH_SLOW,
     .types = F32},
};

static int64_t batch_of(const struct igh_run *run) {
    return run->test->n[0] < 0 ? 1 : run->test->n[0];
}

static void declare(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t batch = c->n[0], m = c->n[1], n = c->n[2], k = c->n[3];
    const uint32_t skip = batch < 0, rank = 3 - skip;
    igh_matrix_input(run, A, "a", batch, m, n, (enum igh_matrix_kind)c->n[4]);
    if (c->flags & TRANSPOSED) {
        igh_strides(run, A, (const int64_t[]){m * n, 1, m}, 0);
    }
    if (c->flags & FAR_APART) {
        igh_strides(run, A, (const int64_t[]){IGH_MATRIX_FAR, n, 1}, 0);
    }
    igh_input(run, B, "b", run->type, rank, (const int64_t[]){batch, m, k} + skip,
              (struct igh_fill){IGH_NORMAL, 0, 1});
    igh_output(run, X, "x", run->type, rank, (const int64_t[]){batch, n, k} + skip);
    if (!(c->flags & NO_RANK)) {
        igh_output(run, RANK, "rank", INGOT_SCALAR_I32, rank - 2, c->n);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_lstsq_desc desc = {.a = igh_tensor(run, A),
                                   .b = igh_tensor(run, B),
                                   .x = igh_tensor(run, X),
                                   .rank = igh_tensor(run, RANK)};
    return ingot_op_lstsq(run->ops, run->stream, &desc);
}

/* y = a x or, transposed, a' x. */
static void apply(const double *a, int64_t m, int64_t n, const double *x, double *y,
                  bool transposed) {
    igh_matrix_multiply(a, x, y, transposed ? n : m, transposed ? m : n, 1, transposed);
}

static double dot(const double *a, const double *b, int64_t n) {
    double sum = 0;
    for (int64_t i = 0; i < n; i++) {
        sum += a[i] * b[i];
    }
    return sum;
}

/* The least squares solution of least norm by conjugate gradients on the normal equations from zero
 * (Hestenes and Stiefel 1952), whose iterates stay in the range of a'; at most `most`
 * steps, since rounding gives a matrix of low rank a tail that must not be fitted. work has 2 m + 3
 * n elements.
 */
static void conjugate_gradients(const double *a, int64_t m, int64_t n, const double *b, double *x,
                                int64_t most, double *work) {
    double *r = work, *q = r + m, *s = q + m, *p = s + n;
    for (int64_t i = 0; i < m; i++) {
        r[i] = b[i];
    }
    for (int64_t i = 0; i < n; i++) {
        x[i] = 0;
    }
    apply(a, m, n, r, s, true);
    for (int64_t i = 0; i < n; i++) {
        p[i] = s[i];
    }
    double gamma = dot(s, s, n);
    const double target = gamma * 1e-26;
    for (int64_t step = 0; step < most && gamma > target; step++) {
        apply(a, m, n, p, q, false);
        const double alpha = gamma / dot(q, q, m);
        for (int64_t i = 0; i < n; i++) {
            x[i] += alpha * p[i];
        }
        for (int64_t i = 0; i < m; i++) {
            r[i] -= alpha * q[i];
        }
        apply(a, m, n, r, s, true);
        const double next = dot(s, s, n), beta = next / gamma;
        for (int64_t i = 0; i < n; i++) {
            p[i] = s[i] + beta * p[i];
        }
        gamma = next;
    }
}

static double raise(double worst, double value) { /* a NaN stays */
    return value <= worst ? worst : value;
}

/* One column: |a'(a x - b)| against |a| (|a| |x| + |b|), and |x - reference| against |reference|.
 */
static void measure(const struct igh_run *run, const double *a, double *b, double *x, double *work,
                    double *normal, double *apart) {
    const int64_t m = run->test->n[1], n = run->test->n[2];
    double *y = work, *z = y + m, *reference = z + n, *rest = reference + n;
    const double size = igh_matrix_norm(a, m * n);
    apply(a, m, n, x, y, false);
    for (int64_t i = 0; i < m; i++) {
        y[i] -= b[i];
    }
    apply(a, m, n, y, z, true);
    const double scale = size * (size * igh_matrix_norm(x, n) + igh_matrix_norm(b, m));
    *normal = raise(*normal, scale > 0 ? igh_matrix_norm(z, n) / scale : igh_matrix_norm(z, n));
    if (run->test->flags & UNIQUE) {
        const bool low_rank = run->test->n[4] == IGH_MATRIX_LOW_RANK;
        conjugate_gradients(a, m, n, b, reference, low_rank ? run->test->n[5] : 20 * n + 50, rest);
        *apart = raise(*apart, igh_matrix_error(reference, x, n));
    } else {
        *apart = raise(*apart, igh_matrix_norm(x, n) < HUGE_VAL ? 0 : HUGE_VAL);
    }
}

static void verify(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t m = c->n[1], n = c->n[2], k = c->n[3];
    double *x = igh_got(run, X), *rank = c->flags & NO_RANK ? NULL : igh_got(run, RANK);
    double *work = malloc(sizeof *work * (size_t)(5 * m + 8 * n + 8));
    double normal = x && work ? 0 : HUGE_VAL, apart = 0, wrong = 0;
    for (int64_t i = 0; x && work && i < batch_of(run); i++) {
        for (int64_t j = 0; j < k; j++) {
            double *column = work, *solution = work + m;
            for (int64_t l = 0; l < m; l++) {
                column[l] = igh_values(run, B)[(i * m + l) * k + j];
            }
            for (int64_t l = 0; l < n; l++) {
                solution[l] = x[(i * n + l) * k + j];
            }
            measure(run, igh_values(run, A) + i * m * n, column, solution, work + m + n, &normal,
                    &apart);
        }
        if (rank && c->n[5] >= 0) {
            wrong += rank[i] != (double)c->n[5];
        }
    }
    const double rounding = run->type == INGOT_SCALAR_F32 ? 0 : igh_ulp(run->type, 1);
    const int64_t larger = m > n ? m : n;
    igh_metric(run, "a'(a x - b)", normal, 1e-6 * sqrt((double)(larger + 1)) + rounding);
    igh_metric(run, "x", apart, 10 * igh_matrix_bound(run, larger));
    igh_metric(run, "rank", wrong, 0);
    free(x);
    free(rank);
    free(work);
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    const double m = (double)run->test->n[1], n = (double)run->test->n[2];
    const double k = (double)run->test->n[3], s = m < n ? m : n, l = m < n ? n : m;
    *bytes =
        (double)batch_of(run) * (m * n + m * k + n * k) * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = (double)batch_of(run) * (2 * l * s * s - 2.0 / 3 * s * s * s + 4 * m * n * k);
}

static const struct igh_suite lstsq = {
    .operation = "lstsq",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = (const char *const[]){"batch", "m", "n", "k", "kind", "rank", NULL},
    .flag_names = (const char *const[]){"unique", "no rank", "transposed", "far apart", NULL},
    .declare = declare,
    .launch = launch,
    .verify = verify,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&lstsq};
const struct igh_suites igh_suites_lstsq = {suites, 1};
