/* The cases of eigh. n = batch (negative: rank 2), n, kind of matrix; only a triangle is read, so
 * every kind gives a symmetric matrix. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/matrices_cases.h"
#include "eigh/eigh_reference.h"

enum { A, VALUES, VECTORS };
enum {
    UPPER = 1,
    VALUES_ONLY = 2,
    REFLECTION = 4,
    STRIDED = 8,
    BLOCKS = 16,
    SCALES = 32,
    FAR = 64
};
#define F32 IGH_TYPE(INGOT_SCALAR_F32)

#define KINDS(text, batch, size)                                                                   \
    {.name = text " low rank", .n = {batch, size, IGH_MATRIX_LOW_RANK}, .types = F32},             \
        {.name = text " graded", .n = {batch, size, IGH_MATRIX_GRADED}, .types = F32},             \
        {.name = text " tiny", .n = {batch, size, IGH_MATRIX_TINY}, .types = F32},                 \
        {.name = text " huge", .n = {batch, size, IGH_MATRIX_HUGE}, .types = F32},                 \
        {.name = text " mixed", .n = {batch, size, IGH_MATRIX_MIXED}, .types = F32},               \
        {.name = text " zero", .n = {batch, size, IGH_MATRIX_ZERO}},                               \
        {.name = text " ones", .n = {batch, size, IGH_MATRIX_ONES}},                               \
        {.name = text " identity", .n = {batch, size, IGH_MATRIX_IDENTITY}},                       \
        {.name = text " zero columns", .n = {batch, size, IGH_MATRIX_ZERO_COLUMNS}, .types = F32}, \
        {.name = text " Hilbert", .n = {batch, size, IGH_MATRIX_HILBERT}, .types = F32},           \
        {.name = text " positive", .n = {batch, size, IGH_MATRIX_POSITIVE}, .types = F32},         \
        {.name = text " diagonal", .n = {batch, size, IGH_MATRIX_DIAGONAL}, .types = F32},         \
        {.name = text " two scales", .n = {batch, size}, .flags = SCALES, .types = F32},           \
        {.name = text " repeated", .n = {batch, size}, .flags = REFLECTION, .types = F32}, {       \
        .name = text " equal blocks", .n = {batch, size}, .flags = BLOCKS, .types = F32            \
    }

static const struct igh_case cases[] = {
    {.name = "0 matrices", .n = {0, 4}},
    {.name = "0x0", .n = {3, 0}},
    {.name = "1x1", .n = {5, 1}},
    {.name = "2x2", .n = {9, 2}},
    {.name = "3x3 rank 2", .n = {-1, 3}},
    {.name = "7x7", .n = {6, 7}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "17x17 upper", .n = {4, 17}, .flags = UPPER},
    {.name = "31x31 values", .n = {4, 31}, .flags = VALUES_ONLY},
    {.name = "32x32", .n = {8, 32}},
    {.name = "32x32 strided", .n = {4, 32}, .flags = STRIDED},
    {.name = "6x6 far apart", .n = {2, 6}, .flags = FAR, .types = IGH_TYPE(INGOT_SCALAR_F16)},
    KINDS("32x32", 2, 32),
    {.name = "33x33", .n = {3, 33}},
    {.name = "48x48 upper", .n = {3, 48}, .flags = UPPER},
    {.name = "64x64", .n = {3, 64}},
    KINDS("64x64", 1, 64),
    {.name = "65x65", .n = {3, 65}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "66x66 upper values", .n = {2, 66}, .flags = UPPER | VALUES_ONLY},
    {.name = "100x100", .n = {2, 100}},
    KINDS("100x100", 1, 100),
    {.name = "128x128", .n = {1, 128}},
    {.name = "257x257 upper", .n = {1, 257}, .flags = UPPER, .types = F32},
    {.name = "2 of 320x320", .n = {2, 320}, .types = F32},
    {.name = "300x300 low rank", .n = {1, 300, IGH_MATRIX_LOW_RANK}, .types = F32},
    {.name = "300x300 graded", .n = {1, 300, IGH_MATRIX_GRADED}, .types = F32},
    {.name = "300x300 identity", .n = {1, 300, IGH_MATRIX_IDENTITY}, .types = F32},
    {.name = "300x300 Hilbert", .n = {1, 300, IGH_MATRIX_HILBERT}, .types = F32},
    {.name = "300x300 repeated", .n = {1, 300}, .flags = REFLECTION, .types = F32},
    {.name = "300x300 equal blocks", .n = {1, 300}, .flags = BLOCKS, .types = F32},
    {.name = "512x512", .n = {1, 512}, .uses = IGH_CHECK | IGH_SLOW | IGH_BENCH, .types = F32},
    {.name = "1024x1024", .n = {1, 1024}, .uses = IGH_CHECK | IGH_SLOW | IGH_BENCH, .types = F32},
    {.name = "1024x1024 low rank",
     .n = {1, 1024, IGH_MATRIX_LOW_RANK},
     .uses = IGH_CHECK | IGH_SLOW,
     .types = F32},
    {.name = "5000 of 3x3", .n = {5000, 3}, .types = F32},
    {.name = "1024 of 16x16", .n = {1024, 16}, .uses = IGH_BENCH | IGH_TUNE, .types = F32},
    {.name = "4096 of 32x32",
     .n = {4096, 32},
     .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE,
     .types = F32},
    {.name = "1024 of 64x64",
     .n = {1024, 64},
     .uses = IGH_BENCH | IGH_TUNE | IGH_LARGE,
     .types = F32},
    {.name = "16 of 256x256", .n = {16, 256}, .uses = IGH_BENCH | IGH_TUNE, .types = F32},
    {.name = "large 64 of 256x256", .n = {64, 256}, .uses = IGH_LARGE, .types = F32},
};

static const char *const size_names[] = {"batch", "n", "kind", NULL};
static const char *const flag_names[] = {"upper",        "values_only", "reflection", "strided",
                                         "equal_blocks", "two_scales",  "far",        NULL};

static int64_t batch_of(const struct igh_run *run) {
    return run->test->n[0] < 0 ? 1 : run->test->n[0];
}

/* An element of 1 - 2 u u', whose eigenvalues are 1 and one -1; or of blocks of 2 x 2 on the
 * diagonal, all alike; or of a matrix with every other row and column 1e-20 times smaller. */
static double special(struct igh_run *run, const double *u, int64_t row, int64_t column) {
    if (run->test->flags & BLOCKS) {
        return row == column ? 2 : row / 2 == column / 2 ? -1 : 0;
    }
    if (run->test->flags & SCALES) {
        return (igh_random(run) - 0.5) * (row % 2 ? 1 : 1e-20) * (column % 2 ? 1 : 1e-20);
    }
    return (row == column) - 2 * u[row] * u[column];
}

static void set_special(struct igh_run *run) {
    const int64_t n = run->test->n[1], batch = batch_of(run);
    double *a = calloc((size_t)(batch * n * n + n + 1), sizeof *a),
           *u = a ? a + batch * n * n : NULL;
    if (!a) {
        ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for a matrix");
        return;
    }
    for (int64_t b = 0; b < batch; b++) {
        double size = 0;
        for (int64_t i = 0; i < n; i++) {
            u[i] = igh_random(run) - 0.5;
            size += u[i] * u[i];
        }
        for (int64_t i = 0; i < n; i++) {
            u[i] /= sqrt(size);
        }
        for (int64_t i = 0; i < n * n; i++) {
            a[b * n * n + i] = special(run, u, i / n, i % n);
        }
    }
    igh_set(run, A, a, true);
    free(a);
}

static void declare(struct igh_run *run) {
    const int64_t batch = run->test->n[0], n = run->test->n[1];
    const int64_t shape[3] = {batch_of(run), n, n};
    const uint32_t skip = batch < 0;
    igh_matrix_input(run, A, "a", batch, n, n, (enum igh_matrix_kind)run->test->n[2]);
    if (run->test->flags & (REFLECTION | BLOCKS | SCALES)) {
        set_special(run);
    }
    igh_output(run, VALUES, "values", run->type, 2 - skip, shape + skip);
    if (!(run->test->flags & VALUES_ONLY)) {
        igh_output(run, VECTORS, "vectors", run->type, 3 - skip, shape + skip);
    }
    if (run->test->flags & FAR) {
        igh_strides(run, A, (const int64_t[]){((int64_t)1 << 31) + 5, n, 1}, 3);
    }
    if (run->test->flags & STRIDED) {
        igh_strides(run, A, (const int64_t[]){n * n + 3, 1, n}, 2);
        igh_strides(run, VALUES, (const int64_t[]){2 * n, 2}, 1);
        igh_strides(run, VECTORS, (const int64_t[]){n * (n + 1), 1, n + 1}, 5);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_eigh_desc desc = {.a = igh_tensor(run, A),
                                  .values = igh_tensor(run, VALUES),
                                  .vectors = igh_tensor(run, VECTORS),
                                  .upper = run->test->flags & UPPER};
    return ingot_op_eigh(run->ops, run->stream, &desc);
}

struct errors {
    double residual, orthogonality, values, order, not_spread;
};

static double larger(double x, double y) {
    return x >= y ? x : y; /* a NaN stays in y */
}

/* One matrix: a symmetric, `work` and `other` of its size. */
static void measure(const double *a, const double *values, const double *vectors, int64_t n,
                    double *work, double *other, struct errors *e) {
    const double size = igh_matrix_norm(a, n * n);
    for (int64_t i = 1; i < n; i++) {
        e->order += !(values[i - 1] <= values[i]);
    }
    if (vectors) {
        for (int64_t i = 0; i < n; i++) {
            for (int64_t j = 0; j < n; j++) {
                work[j * n + i] = vectors[i * n + j] * values[j];
            }
        }
        double *transposed = other;
        for (int64_t i = 0; i < n * n; i++) {
            transposed[i % n * n + i / n] = vectors[i];
        }
        double *product = calloc((size_t)(n * n), sizeof *product);
        if (!product) {
            return;
        }
        igh_matrix_multiply(work, transposed, product, n, n, n, true);
        e->residual = larger(e->residual, igh_matrix_error(a, product, n * n));
        free(product);
        e->orthogonality = larger(e->orthogonality, igh_matrix_orthogonality(vectors, n, n));
    }
    if (n <= 128) {
        double *exact = other;
        memcpy(work, a, sizeof *work * (size_t)(n * n));
        igh_symmetric_eigenvalues(work, n, exact);
        for (int64_t i = 0; i < n; i++) {
            e->values = larger(e->values, fabs(values[i] - exact[i]) / (size > 0 ? size : 1));
        }
    }
}

/* Of the input with a NaN or infinity in its triangle everything is NaN. */
static void measure_odd(const double *values, const double *vectors, int64_t n, struct errors *e) {
    for (int64_t i = 0; i < n; i++) {
        e->not_spread += !isnan(values[i]);
    }
    for (int64_t i = 0; vectors && i < n * n; i++) {
        e->not_spread += !isnan(vectors[i]);
    }
}

static void verify(struct igh_run *run) {
    const int64_t n = run->test->n[1], batch = batch_of(run), size = n * n;
    const double *in = igh_values(run, A);
    double *values = igh_got(run, VALUES);
    double *vectors = igh_tensor(run, VECTORS) ? igh_got(run, VECTORS) : NULL;
    double *a = calloc((size_t)(3 * size + 1), sizeof *a);
    struct errors e = {0};
    if (!a || !values || (igh_tensor(run, VECTORS) && !vectors)) {
        ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory to check eigh");
        goto done;
    }
    for (int64_t b = 0; b < batch && size; b++) {
        bool finite = true;
        for (int64_t i = 0; i < size; i++) {
            const int64_t row = i / n, column = i % n;
            const bool own = run->test->flags & UPPER ? column >= row : column <= row;
            a[i] = in[b * size + (own ? i : column * n + row)];
            finite = finite && isfinite(a[i]);
        }
        const double *v = vectors ? vectors + b * size : NULL;
        if (finite) {
            measure(a, values + b * n, v, n, a + size, a + 2 * size, &e);
        } else {
            measure_odd(values + b * n, v, n, &e);
        }
    }
    const double bound = igh_matrix_bound(run, n);
    if (vectors) {
        igh_metric(run, "residual", e.residual, bound);
        igh_metric(run, "orthogonality", e.orthogonality, bound);
    }
    igh_metric(run, "eigenvalues", e.values, run->type == INGOT_SCALAR_F32 ? bound / 8 : bound);
    igh_metric(run, "out of order", e.order, 0);
    if (run->specials) {
        igh_metric(run, "not NaN", e.not_spread, 0);
    }
done:
    free(a);
    free(values);
    free(vectors);
}

/* Householder reduction, accumulation and QL, as LAPACK counts them. */
static void cost(const struct igh_run *run, double *bytes, double *flops) {
    const double n = (double)run->test->n[1], count = (double)batch_of(run);
    *bytes = count * (2 * n * n + n) * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = count * 9 * n * n * n;
}

static const struct igh_suite eigh = {
    .operation = "eigh",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = size_names,
    .flag_names = flag_names,
    .declare = declare,
    .launch = launch,
    .verify = verify,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&eigh};
const struct igh_suites igh_suites_eigh = {suites, 1};
