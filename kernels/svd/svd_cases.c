/* The cases of svd. n = batch (negative: rank 2), rows, columns, kind of matrix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/matrices_cases.h"
#include "svd/svd_reference.h"

enum { A, U, S, VH };
enum { VALUES_ONLY = 1, STRIDED = 2, FAR = 4 };
#define F32 IGH_TYPE(INGOT_SCALAR_F32)

#define KINDS(text, batch, rows, columns)                                                          \
    {.name = text " low rank", .n = {batch, rows, columns, IGH_MATRIX_LOW_RANK}, .types = F32},    \
        {.name = text " graded", .n = {batch, rows, columns, IGH_MATRIX_GRADED}, .types = F32},    \
        {.name = text " tiny", .n = {batch, rows, columns, IGH_MATRIX_TINY}, .types = F32},        \
        {.name = text " huge", .n = {batch, rows, columns, IGH_MATRIX_HUGE}, .types = F32},        \
        {.name = text " mixed", .n = {batch, rows, columns, IGH_MATRIX_MIXED}, .types = F32},      \
        {.name = text " zero", .n = {batch, rows, columns, IGH_MATRIX_ZERO}},                      \
        {.name = text " ones", .n = {batch, rows, columns, IGH_MATRIX_ONES}},                      \
        {.name = text " identity", .n = {batch, rows, columns, IGH_MATRIX_IDENTITY}},              \
        {.name = text " zero columns",                                                             \
         .n = {batch, rows, columns, IGH_MATRIX_ZERO_COLUMNS},                                     \
         .types = F32},                                                                            \
        {.name = text " Hilbert", .n = {batch, rows, columns, IGH_MATRIX_HILBERT}, .types = F32},  \
    {                                                                                              \
        .name = text " diagonal", .n = {batch, rows, columns, IGH_MATRIX_DIAGONAL}, .types = F32   \
    }

static const struct igh_case cases[] = {
    {.name = "0 matrices", .n = {0, 4, 3}},
    {.name = "3x0", .n = {2, 3, 0}},
    {.name = "0x3 values", .n = {2, 0, 3}, .flags = VALUES_ONLY},
    {.name = "1x1", .n = {5, 1, 1}},
    {.name = "1x7", .n = {3, 1, 7}},
    {.name = "7x1", .n = {3, 7, 1}},
    {.name = "2x2", .n = {9, 2, 2}},
    {.name = "3x3 rank 2", .n = {-1, 3, 3}},
    {.name = "7x5", .n = {6, 7, 5}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "5x8", .n = {6, 5, 8}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "17x17", .n = {4, 17, 17}},
    {.name = "31x29 values", .n = {4, 31, 29}, .flags = VALUES_ONLY},
    {.name = "32x32", .n = {8, 32, 32}},
    {.name = "32x32 strided", .n = {4, 32, 32}, .flags = STRIDED},
    {.name = "20x30 strided", .n = {4, 20, 30}, .flags = STRIDED},
    {.name = "5x6 far apart", .n = {2, 5, 6}, .flags = FAR, .types = IGH_TYPE(INGOT_SCALAR_F16)},
    KINDS("32x32", 2, 32, 32),
    KINDS("20x31", 2, 20, 31),
    {.name = "33x33", .n = {3, 33, 33}},
    {.name = "64x64", .n = {3, 64, 64}},
    {.name = "64x64 values", .n = {3, 64, 64}, .flags = VALUES_ONLY},
    KINDS("64x64", 1, 64, 64),
    {.name = "64x10", .n = {3, 64, 10}},
    {.name = "10x64", .n = {3, 10, 64}},
    {.name = "300x20", .n = {2, 300, 20}},
    {.name = "20x300", .n = {2, 20, 300}},
    {.name = "200x64 values", .n = {1, 200, 64}, .flags = VALUES_ONLY},
    KINDS("100x40", 1, 100, 40),
    {.name = "65x65", .n = {2, 65, 65}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "100x100", .n = {2, 100, 100}},
    {.name = "100x100 values", .n = {1, 100, 100}, .flags = VALUES_ONLY},
    {.name = "128x96", .n = {1, 128, 96}},
    {.name = "96x128", .n = {1, 96, 128}},
    KINDS("100x100", 1, 100, 100),
    {.name = "90x110 low rank", .n = {1, 90, 110, IGH_MATRIX_LOW_RANK}, .types = F32},
    {.name = "257x200", .n = {1, 257, 200}, .types = F32},
    {.name = "300x70 graded", .n = {1, 300, 70, IGH_MATRIX_GRADED}, .types = F32},
    {.name = "70x300 low rank", .n = {2, 70, 300, IGH_MATRIX_LOW_RANK}, .types = F32},
    {.name = "150x130 zero columns", .n = {1, 150, 130, IGH_MATRIX_ZERO_COLUMNS}, .types = F32},
    {.name = "512x512", .n = {1, 512, 512}, .uses = IGH_CHECK | IGH_SLOW | IGH_BENCH, .types = F32},
    {.name = "1024x1024",
     .n = {1, 1024, 1024},
     .uses = IGH_CHECK | IGH_SLOW | IGH_BENCH,
     .types = F32},
    {.name = "1024x1024 low rank",
     .n = {1, 1024, 1024, IGH_MATRIX_LOW_RANK},
     .uses = IGH_CHECK | IGH_SLOW,
     .types = F32},
    {.name = "2000 of 3x5", .n = {2000, 3, 5}, .types = F32},
    {.name = "1024 of 16x16", .n = {1024, 16, 16}, .uses = IGH_BENCH | IGH_TUNE, .types = F32},
    {.name = "4096 of 32x32",
     .n = {4096, 32, 32},
     .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE,
     .types = F32},
    {.name = "1024 of 64x64",
     .n = {1024, 64, 64},
     .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE,
     .types = F32},
    {.name = "16 of 256x256", .n = {16, 256, 256}, .uses = IGH_BENCH | IGH_TUNE, .types = F32},
    {.name = "large 64 of 256x256", .n = {64, 256, 256}, .uses = IGH_LARGE, .types = F32},
};
static const char *const size_names[] = {"batch", "m", "n", "kind", NULL};
static const char *const flag_names[] = {"values_only", "strided", "far", NULL};

static int64_t batch_of(const struct igh_run *run) {
    return run->test->n[0] < 0 ? 1 : run->test->n[0];
}
static int64_t smaller_of(const struct igh_run *run) {
    return run->test->n[1] < run->test->n[2] ? run->test->n[1] : run->test->n[2];
}

static void declare(struct igh_run *run) {
    const int64_t m = run->test->n[1], n = run->test->n[2], k = smaller_of(run);
    const uint32_t skip = run->test->n[0] < 0;
    const int64_t u[3] = {batch_of(run), m, k}, s[2] = {batch_of(run), k},
                  vh[3] = {batch_of(run), k, n};
    igh_matrix_input(run, A, "a", run->test->n[0], m, n, (enum igh_matrix_kind)run->test->n[3]);
    igh_output(run, S, "s", run->type, 2 - skip, s + skip);
    if (!(run->test->flags & VALUES_ONLY)) {
        igh_output(run, U, "u", run->type, 3 - skip, u + skip);
        igh_output(run, VH, "vh", run->type, 3 - skip, vh + skip);
    }
    if (run->test->flags & FAR) {
        igh_strides(run, A, (const int64_t[]){((int64_t)1 << 31) + 5, n, 1}, 3);
    }
    if (run->test->flags & STRIDED) {
        igh_strides(run, A, (const int64_t[]){m * n + 3, 1, m}, 2);
        igh_strides(run, S, (const int64_t[]){2 * k, 2}, 1);
        igh_strides(run, U, (const int64_t[]){m * (k + 1), 1, m}, 5);
        igh_strides(run, VH, (const int64_t[]){k * (n + 1), n + 1, 1}, 1);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_svd_desc desc = {.a = igh_tensor(run, A),
                                 .u = igh_tensor(run, U),
                                 .s = igh_tensor(run, S),
                                 .vh = igh_tensor(run, VH)};
    return ingot_op_svd(run->ops, run->stream, &desc);
}

struct errors {
    double residual, u, vh, values, relative, order, not_spread;
};

static double larger(double x, double y) {
    return x >= y ? x : y; /* a NaN stays in y */
}

/* Sets m * n elements of `to` to the transpose of the n by m matrix `from`. */
static void transpose(const double *from, double *to, int64_t m, int64_t n) {
    for (int64_t i = 0; i < m * n; i++) {
        to[i] = from[i % n * m + i / n];
    }
}

static void measure_values(const double *a, const double *s, int64_t m, int64_t n, double *work,
                           struct errors *e) {
    const int64_t k = m < n ? m : n;
    double *exact = calloc((size_t)k, sizeof *exact);
    if (!exact) {
        return;
    }
    if (m < n) {
        memcpy(work, a, sizeof *work * (size_t)(m * n));
    } else {
        transpose(a, work, n, m);
    }
    igh_singular_values(work, k, m < n ? n : m, exact);
    for (int64_t i = 0; i < k; i++) {
        double apart = fabs(s[i] - exact[i]);
        e->values = larger(e->values, exact[0] > 0 ? apart / exact[0] : apart);
        if (exact[i] > 1e-14 * exact[0]) {
            e->relative = larger(e->relative, apart / exact[i]);
        }
    }
    free(exact);
}

struct factors { /* of one matrix, m by n; u and vh may be NULL */
    const double *u, *s, *vh;
};

/* work has room for 3 (m + n)^2. */
static void measure(const double *a, const struct factors *factors, int64_t m, int64_t n,
                    double *work, struct errors *e) {
    const double *u = factors->u, *s = factors->s, *vh = factors->vh;
    const int64_t k = m < n ? m : n;
    for (int64_t i = 0; i < k; i++) {
        e->order += !(s[i] >= 0) || (i > 0 && !(s[i - 1] >= s[i]));
    }
    if (u) {
        double *scaled = work, *product = work + m * k, *v = product + m * n;
        for (int64_t i = 0; i < m * k; i++) {
            scaled[i] = u[i] * s[i % k];
        }
        igh_matrix_multiply(scaled, vh, product, m, k, n, false);
        e->residual = larger(e->residual, igh_matrix_error(a, product, m * n));
        e->u = larger(e->u, igh_matrix_orthogonality(u, m, k));
        transpose(vh, v, n, k);
        e->vh = larger(e->vh, igh_matrix_orthogonality(v, n, k));
    }
    if (k <= 128 && m * n <= 128 * 320) {
        measure_values(a, s, m, n, work, e);
    }
}

/* Of an input with a NaN or infinity everything is NaN. */
static double count_numbers(const double *x, int64_t count) {
    double numbers = 0;
    for (int64_t i = 0; x && i < count; i++) {
        numbers += !isnan(x[i]);
    }
    return numbers;
}

static bool all_finite(const double *x, int64_t count) {
    for (int64_t i = 0; i < count; i++) {
        if (!isfinite(x[i])) {
            return false;
        }
    }
    return true;
}

/* Where scales differ by columns only, Jacobi finds small singular values to relative accuracy. */
static bool is_relative(const struct igh_run *run) {
    const int64_t kind = run->test->n[3];
    return run->type == INGOT_SCALAR_F32 && run->test->n[1] >= run->test->n[2] &&
           (kind == IGH_MATRIX_GRADED || kind == IGH_MATRIX_DIAGONAL);
}

static void report(struct igh_run *run, const struct errors *e) {
    const double bound = igh_matrix_bound(run, run->test->n[1] > run->test->n[2] ? run->test->n[1]
                                                                                 : run->test->n[2]);
    if (igh_tensor(run, U)) {
        igh_metric(run, "residual", e->residual, bound);
        igh_metric(run, "orthogonality of u", e->u, bound);
        igh_metric(run, "orthogonality of vh", e->vh, bound);
    }
    igh_metric(run, "singular values", e->values,
               run->type == INGOT_SCALAR_F32 ? bound / 8 : bound);
    if (is_relative(run)) {
        igh_metric(run, "singular values, relative", e->relative, bound);
    }
    igh_metric(run, "out of order", e->order, 0);
    if (run->specials) {
        igh_metric(run, "not NaN", e->not_spread, 0);
    }
}

static void verify(struct igh_run *run) {
    const int64_t m = run->test->n[1], n = run->test->n[2], k = smaller_of(run);
    const double *a = igh_values(run, A);
    const bool vectors = igh_tensor(run, U);
    double *u = vectors ? igh_got(run, U) : NULL, *s = igh_got(run, S),
           *vh = vectors ? igh_got(run, VH) : NULL;
    double *work = calloc((size_t)(3 * (m + n) * (m + n) + 1), sizeof *work);
    struct errors e = {0};
    if (work && s && (!vectors || (u && vh))) {
        for (int64_t b = 0; b < batch_of(run) && k; b++) {
            const struct factors own = {u ? u + b * m * k : NULL, s + b * k,
                                        vh ? vh + b * k * n : NULL};
            if (all_finite(a + b * m * n, m * n)) {
                measure(a + b * m * n, &own, m, n, work, &e);
                continue;
            }
            e.not_spread += count_numbers(own.u, m * k) + count_numbers(own.s, k) +
                            count_numbers(own.vh, k * n);
        }
        report(run, &e);
    } else {
        ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory to check svd");
    }
    free(work);
    free(u);
    free(s);
    free(vh);
}

/* Golub and Reinsch's reduction and accumulation, for a square matrix 4 m n^2 + 22 n^3 and alike.
 */
static void cost(const struct igh_run *run, double *bytes, double *flops) {
    const double m = (double)run->test->n[1], n = (double)run->test->n[2], k = m < n ? m : n,
                 l = m < n ? n : m, count = (double)batch_of(run);
    *bytes = count * (m * n + m * k + k + k * n) * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = count * (4 * l * k * k + 22 * k * k * k);
}

static const struct igh_suite svd = {
    .operation = "svd",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = size_names,
    .flag_names = flag_names,
    .declare = declare,
    .launch = launch,
    .verify = verify,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&svd};
const struct igh_suites igh_suites_svd = {suites, 1};
