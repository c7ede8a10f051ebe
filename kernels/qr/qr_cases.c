/* The cases of qr. n = batch (-1: rank 2), rows, columns; n[3] = kind of matrix. */
#include <math.h>
#include <stdlib.h>

#include "common/matrices_cases.h"

enum { A, Q, R };
enum { COMPLETE = 1, NO_Q = 2, TRANSPOSED = 4, FAR_APART = 8 };
#define F32   IGH_TYPE(INGOT_SCALAR_F32)
#define BENCH (IGH_CHECK | IGH_BENCH | IGH_TUNE)

static const struct igh_case cases[] = {
    {.name = "empty batch", .n = {0, 4, 4}},
    {.name = "0 rows", .n = {3, 0, 4}},
    {.name = "0 columns complete", .n = {3, 4, 0}, .flags = COMPLETE},
    {.name = "1x1", .n = {-1, 1, 1}},
    {.name = "5 of 1x7", .n = {5, 1, 7}},
    {.name = "5 of 7x1", .n = {5, 7, 1}},
    {.name = "5 of 7x1 complete", .n = {5, 7, 1}, .flags = COMPLETE},
    {.name = "9 of 3x3", .n = {9, 3, 3}},
    {.name = "7 of 16x16", .n = {7, 16, 16}},
    {.name = "3 of 17x5", .n = {3, 17, 5}},
    {.name = "3 of 17x5 complete", .n = {3, 17, 5}, .flags = COMPLETE},
    {.name = "5 of 32x64", .n = {5, 32, 64}},
    {.name = "5 of 32x64 complete", .n = {5, 32, 64}, .flags = COMPLETE},
    {.name = "5 of 64x32", .n = {5, 64, 32}},
    {.name = "3 of 64x32 complete", .n = {3, 64, 32}, .flags = COMPLETE},
    {.name = "5 of 33x33", .n = {5, 33, 33}},
    {.name = "5 of 47x61 transposed input", .n = {5, 47, 61}, .flags = TRANSPOSED},
    {.name = "5 of 64x64 only r", .n = {5, 64, 64}, .flags = NO_Q},
    {.name = "2 of 100x100 only r", .n = {2, 100, 100}, .flags = NO_Q},
    {.name = "3 of 65x65", .n = {3, 65, 65}},
    {.name = "3 of 100x37", .n = {3, 100, 37}},
    {.name = "2 of 100x37 complete", .n = {2, 100, 37}, .flags = COMPLETE},
    {.name = "3 of 37x100", .n = {3, 37, 100}},
    {.name = "2 of 300x200", .n = {2, 300, 200}},
    {.name = "2 of 31x1025", .n = {2, 31, 1025}},
    {.name = "1000x16", .n = {-1, 1000, 16}},
    {.name = "2 of 1024x40", .n = {2, 1024, 40}, .types = F32},
    {.name = "2 of 1025x40", .n = {2, 1025, 40}, .types = F32},
    {.name = "2048x66", .n = {-1, 2048, 66}, .types = F32},
    {.name = "2049x66", .n = {-1, 2049, 66}, .types = F32},
    {.name = "4096x40", .n = {-1, 4096, 40}, .types = F32},
    {.name = "4097x40", .n = {-1, 4097, 40}, .types = F32},
    {.name = "2 of 1100x70 low rank", .n = {2, 1100, 70, IGH_MATRIX_LOW_RANK}, .types = F32},
    {.name = "2100x70 zero columns", .n = {-1, 2100, 70, IGH_MATRIX_ZERO_COLUMNS}, .types = F32},
    {.name = "4 of 32x32 low rank", .n = {4, 32, 32, IGH_MATRIX_LOW_RANK}},
    {.name = "4 of 32x64 low rank", .n = {4, 32, 64, IGH_MATRIX_LOW_RANK}},
    {.name = "4 of 130x130 low rank", .n = {4, 130, 130, IGH_MATRIX_LOW_RANK}},
    {.name = "3 of 40x40 graded", .n = {3, 40, 40, IGH_MATRIX_GRADED}, .types = F32},
    {.name = "3 of 140x90 graded", .n = {3, 140, 90, IGH_MATRIX_GRADED}, .types = F32},
    {.name = "2 of 32x32 tiny", .n = {2, 32, 32, IGH_MATRIX_TINY}, .types = F32},
    {.name = "2 of 32x32 huge", .n = {2, 32, 32, IGH_MATRIX_HUGE}, .types = F32},
    {.name = "2 of 60x40 mixed", .n = {2, 60, 40, IGH_MATRIX_MIXED}, .types = F32},
    {.name = "2 of 160x96 mixed", .n = {2, 160, 96, IGH_MATRIX_MIXED}, .types = F32},
    {.name = "2 of 16x16 zero", .n = {2, 16, 16, IGH_MATRIX_ZERO}},
    {.name = "2 of 80x90 zero", .n = {2, 80, 90, IGH_MATRIX_ZERO}},
    {.name = "2 of 24x24 ones", .n = {2, 24, 24, IGH_MATRIX_ONES}},
    {.name = "2 of 96x96 ones", .n = {2, 96, 96, IGH_MATRIX_ONES}},
    {.name = "2 of 50x50 identity", .n = {2, 50, 50, IGH_MATRIX_IDENTITY}},
    {.name = "2 of 50x50 zero columns", .n = {2, 50, 50, IGH_MATRIX_ZERO_COLUMNS}},
    {.name = "2 of 90x90 zero columns", .n = {2, 90, 90, IGH_MATRIX_ZERO_COLUMNS}},
    {.name = "2 of 30x30 Hilbert", .n = {2, 30, 30, IGH_MATRIX_HILBERT}},
    {.name = "2 of 8x6 far apart", .n = {2, 8, 6}, .flags = FAR_APART},
    {.name = "3000 of 5x4", .n = {3000, 5, 4}},
    {.name = "4096 of 16x16", .n = {4096, 16, 16}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "4096 of 32x32", .n = {4096, 32, 32}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "1024 of 64x64", .n = {1024, 64, 64}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "64 of 256x256", .n = {64, 256, 256}, .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE},
    {.name = "256x256", .n = {-1, 256, 256}},
    {.name = "1024x1024", .n = {-1, 1024, 1024}, .uses = BENCH | IGH_SLOW, .types = F32},
};

static int64_t inner_extent(const struct igh_run *run) {
    const int64_t m = run->test->n[1], n = run->test->n[2];
    return run->test->flags & COMPLETE || m < n ? m : n;
}

static void declare(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t batch = c->n[0], m = c->n[1], n = c->n[2], k = inner_extent(run);
    const uint32_t skip = batch < 0, rank = 3 - skip;
    igh_matrix_input(run, A, "a", batch, m, n, (enum igh_matrix_kind)c->n[3]);
    if (c->flags & TRANSPOSED) {
        igh_strides(run, A, (const int64_t[]){m * n, 1, m}, 0);
    }
    if (c->flags & FAR_APART) { /* offsets past 2^31 elements */
        igh_strides(run, A, (const int64_t[]){((int64_t)1 << 31) + 64, n, 1}, 0);
    }
    if (!(c->flags & NO_Q)) {
        igh_output(run, Q, "q", run->type, rank, (const int64_t[]){batch, m, k} + skip);
    }
    igh_output(run, R, "r", run->type, rank, (const int64_t[]){batch, k, n} + skip);
}

static ingot_status launch(struct igh_run *run) {
    const ingot_qr_desc desc = {.a = igh_tensor(run, A),
                                .q = igh_tensor(run, Q),
                                .r = igh_tensor(run, R),
                                .complete = run->test->flags & COMPLETE};
    return ingot_op_qr(run->ops, run->stream, &desc);
}

/* Without q: r'r = a'a, column by column. */
static double gram_error(const double *a, const double *r, int64_t m, int64_t n, int64_t k) {
    double *one = malloc(sizeof *one * (size_t)(n * n + 1));
    double *other = malloc(sizeof *other * (size_t)(n * n + 1));
    double error = HUGE_VAL;
    if (one && other) {
        igh_matrix_multiply(a, a, one, n, m, n, true);
        igh_matrix_multiply(r, r, other, n, k, n, true);
        error = igh_matrix_column_error(one, other, n, n);
    }
    free(one);
    free(other);
    return error;
}

static double below_diagonal(const double *r, int64_t k, int64_t n) {
    double worst = 0;
    for (int64_t i = 1; i < k; i++) {
        for (int64_t j = 0; j < n && j < i; j++) {
            worst = fabs(r[i * n + j]) <= worst ? worst : fabs(r[i * n + j]);
        }
    }
    return worst;
}

static void verify(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t batch = c->n[0] < 0 ? 1 : c->n[0], m = c->n[1], n = c->n[2];
    const int64_t k = inner_extent(run);
    double *q = c->flags & NO_Q ? NULL : igh_got(run, Q), *r = igh_got(run, R);
    double *product = malloc(sizeof *product * (size_t)(m * n + 1));
    double residual = 0, apart = 0, below = 0;
    for (int64_t b = 0; r && product && b < batch; b++) {
        const double *a = igh_values(run, A) + b * m * n;
        double e;
        if (q) {
            igh_matrix_multiply(q + b * m * k, r + b * k * n, product, m, k, n, false);
            e = igh_matrix_column_error(a, product, m, n);
            double o = igh_matrix_orthogonality(q + b * m * k, m, k);
            apart = o <= apart ? apart : o;
        } else {
            e = gram_error(a, r + b * k * n, m, n, k);
        }
        residual = e <= residual ? residual : e;
        double d = below_diagonal(r + b * k * n, k, n);
        below = d <= below ? below : d;
    }
    const int64_t larger = m > n ? m : n;
    igh_metric(run, "a = q r", r && product ? residual : HUGE_VAL, igh_matrix_bound(run, larger));
    igh_metric(run, "q'q = 1", apart, igh_matrix_bound(run, larger));
    igh_metric(run, "below the diagonal", below, 0);
    free(q);
    free(r);
    free(product);
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    const double batch = (double)(run->test->n[0] < 0 ? 1 : run->test->n[0]);
    const double m = (double)run->test->n[1], n = (double)run->test->n[2];
    const double k = (double)inner_extent(run);
    *bytes = batch * (m * n + m * k + k * n) * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = 2 * batch * (2 * m * n * n - 2.0 / 3 * n * n * n);
}

static const struct igh_suite qr = {
    .operation = "qr",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = (const char *const[]){"batch", "m", "n", "kind", NULL},
    .flag_names = (const char *const[]){"complete", "no q", "transposed", "far apart", NULL},
    .declare = declare,
    .launch = launch,
    .verify = verify,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&qr};
const struct igh_suites igh_suites_qr = {suites, 1};
