/* The cases of triangular_solve. n = batch (-1: rank 2), n, right-hand sides, exponent of the scale
 * of a. The triangle that must not be read holds 777. */
#include <math.h>
#include <stdlib.h>

#include "common/matrices_cases.h"

enum { A, B, X };
enum {
    UPPER = 1,
    TRANSPOSED = 2,
    UNIT = 4,
    RIGHT = 8,
    IN_PLACE = 16,
    STRIDED = 32,
    FAR_APART = 64
};
#define F32 IGH_TYPE(INGOT_SCALAR_F32)

static const struct igh_case cases[] = {
    {.name = "empty batch", .n = {0, 4, 4}},
    {.name = "0x0", .n = {3, 0, 4}},
    {.name = "5x5, none", .n = {3, 5, 0}},
    {.name = "1x1", .n = {-1, 1, 1}},
    {.name = "7 of 3x3, 1", .n = {7, 3, 1}},
    {.name = "7 of 16x16, 1 upper", .n = {7, 16, 1}, .flags = UPPER},
    {.name = "3 of 13x13, 5", .n = {3, 13, 5}},
    {.name = "3 of 13x13, 5 upper", .n = {3, 13, 5}, .flags = UPPER},
    {.name = "2 of 6x6, 3 far apart", .n = {2, 6, 3}, .flags = FAR_APART},
    {.name = "2 of 90x90, 70 far apart",
     .n = {2, 90, 70},
     .flags = FAR_APART | UPPER,
     .types = F32},
    {.name = "3 of 13x13, 5 transposed", .n = {3, 13, 5}, .flags = TRANSPOSED},
    {.name = "3 of 13x13, 5 upper transposed", .n = {3, 13, 5}, .flags = UPPER | TRANSPOSED},
    {.name = "3 of 13x13, 5 unit", .n = {3, 13, 5}, .flags = UNIT},
    {.name = "3 of 13x13, 5 upper transposed unit",
     .n = {3, 13, 5},
     .flags = UPPER | TRANSPOSED | UNIT},
    {.name = "3 of 13x13, 5 right", .n = {3, 13, 5}, .flags = RIGHT},
    {.name = "3 of 20x20, 35 right upper transposed",
     .n = {3, 20, 35},
     .flags = RIGHT | UPPER | TRANSPOSED},
    {.name = "3 of 20x20, 35 right upper in place",
     .n = {3, 20, 35},
     .flags = RIGHT | UPPER | IN_PLACE},
    {.name = "5 of 32x32, 40 in place", .n = {5, 32, 40}, .flags = IN_PLACE},
    {.name = "5 of 64x64, 64 upper strided", .n = {5, 64, 64}, .flags = UPPER | STRIDED},
    {.name = "3 of 150x150, 70", .n = {3, 150, 70}},
    {.name = "2 of 257x257, 3 upper", .n = {2, 257, 3}, .flags = UPPER},
    {.name = "2 of 127x127, 4", .n = {2, 127, 4}},
    {.name = "2 of 128x128, 4", .n = {2, 128, 4}},
    {.name = "2 of 129x129, 4 upper", .n = {2, 129, 4}, .flags = UPPER},
    {.name = "2 of 200x200, 8 transposed", .n = {2, 200, 8}, .flags = TRANSPOSED},
    {.name = "2 of 200x200, 1 upper transposed unit",
     .n = {2, 200, 1},
     .flags = UPPER | TRANSPOSED | UNIT},
    {.name = "2 of 200x200, 8 in place", .n = {2, 200, 8}, .flags = IN_PLACE},
    {.name = "2 of 200x200, 9 upper", .n = {2, 200, 9}, .flags = UPPER},
    {.name = "2 of 330x330, 70 transposed", .n = {2, 330, 70}, .flags = TRANSPOSED, .types = F32},
    {.name = "2 of 200x200, 5 right", .n = {2, 200, 5}, .flags = RIGHT},
    {.name = "2 of 200x200, 70 right upper", .n = {2, 200, 70}, .flags = RIGHT | UPPER},
    {.name = "2 of 32x32, 4 of 1e-30", .n = {2, 32, 4, -30}, .types = F32},
    {.name = "2 of 32x32, 4 of 1e30", .n = {2, 32, 4, 30}, .types = F32},
    {.name = "3000 of 5x5, 1", .n = {3000, 5, 1}},
    {.name = "4096 of 32x32, 32", .n = {4096, 32, 32}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "1024 of 64x64, 64", .n = {1024, 64, 64}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "1024x1024, 1024",
     .n = {-1, 1024, 1024},
     .uses = IGH_CHECK | IGH_BENCH | IGH_TUNE | IGH_SLOW,
     .types = F32},
};

static void fill_triangle(struct igh_run *run, double *a, int64_t n) {
    const uint32_t flags = run->test->flags;
    const double scale = pow(10, (double)run->test->n[3]);
    for (int64_t i = 0; i < n; i++) {
        for (int64_t j = 0; j < n; j++) {
            const bool read = flags & UPPER ? j > i : j < i;
            const double x = (igh_random(run) - 0.5) / sqrt((double)n);
            a[i * n + j] = read     ? x * (flags & UNIT ? 1 : scale)
                           : i == j ? (flags & UNIT ? 777 : (1 + igh_random(run)) * scale)
                                    : 777;
        }
    }
}

static void declare(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t batch = c->n[0], n = c->n[1], k = c->n[2], count = batch < 0 ? 1 : batch;
    const uint32_t skip = batch < 0, rank = 3 - skip;
    const int64_t rows = c->flags & RIGHT ? k : n, columns = c->flags & RIGHT ? n : k;
    const struct igh_fill fill = {IGH_NORMAL, 0, 1};
    igh_input(run, A, "a", run->type, rank, (const int64_t[]){batch, n, n} + skip, fill);
    if (c->flags & STRIDED) {
        igh_strides(run, A, (const int64_t[]){2 * n * n, 2 * n, 1}, 3);
    }
    if (c->flags & FAR_APART) {
        igh_strides(run, A, (const int64_t[]){IGH_MATRIX_FAR, n, 1}, 0);
    }
    double *a = malloc(sizeof *a * (size_t)(count * n * n + 1));
    if (!a) {
        ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for a matrix");
        return;
    }
    for (int64_t i = 0; i < count; i++) {
        fill_triangle(run, a + i * n * n, n);
    }
    igh_set(run, A, a, true);
    free(a);
    const int64_t shape[] = {batch, rows, columns};
    if (c->flags & IN_PLACE) {
        igh_inout(run, B, "b", run->type, rank, shape + skip, fill);
    } else {
        igh_input(run, B, "b", run->type, rank, shape + skip, fill);
        igh_output(run, X, "x", run->type, rank, shape + skip);
        if (c->flags & STRIDED) {
            igh_strides(run, X, (const int64_t[]){rows * columns, 1, rows}, 0);
        }
    }
}

static ingot_status launch(struct igh_run *run) {
    const uint32_t flags = run->test->flags;
    const ingot_triangular_solve_desc desc = {.a = igh_tensor(run, A),
                                              .b = igh_tensor(run, B),
                                              .x = igh_tensor(run, flags & IN_PLACE ? B : X),
                                              .upper = flags & UPPER,
                                              .transposed = flags & TRANSPOSED,
                                              .unit = flags & UNIT,
                                              .right = flags & RIGHT};
    return ingot_op_triangular_solve(run->ops, run->stream, &desc);
}

/* op(a)[i][j] with its implied zeros and ones. */
static double entry(const double *a, int64_t n, uint32_t flags, int64_t i, int64_t j) {
    const int64_t row = flags & TRANSPOSED ? j : i, column = flags & TRANSPOSED ? i : j;
    if (row == column) {
        return flags & UNIT ? 1 : a[row * n + row];
    }
    return (flags & UPPER ? column > row : column < row) ? a[row * n + column] : 0;
}

/* |op(a) x - b| against |op(a)| |x|: the backward error, element by element. */
static double backward_error(const struct igh_run *run, const double *a, const double *b,
                             const double *x) {
    const int64_t n = run->test->n[1], k = run->test->n[2];
    const uint32_t flags = run->test->flags;
    double worst = 0;
    for (int64_t c = 0; c < k; c++) {
        for (int64_t i = 0; i < n; i++) {
            double sum = 0, size = 0;
            for (int64_t j = 0; j < n; j++) {
                const double e =
                    flags & RIGHT ? entry(a, n, flags, j, i) : entry(a, n, flags, i, j);
                const double value = flags & RIGHT ? x[c * n + j] : x[j * k + c];
                sum += e * value;
                size += fabs(e * value);
            }
            const double d = fabs(sum - (flags & RIGHT ? b[c * n + i] : b[i * k + c]));
            const double e = size > 0 ? d / size : d;
            worst = e <= worst ? worst : e;
        }
    }
    return worst;
}

static void verify(struct igh_run *run) {
    const struct igh_case *c = run->test;
    const int64_t batch = c->n[0] < 0 ? 1 : c->n[0], n = c->n[1], k = c->n[2];
    double *x = igh_got(run, c->flags & IN_PLACE ? B : X);
    double worst = x ? 0 : HUGE_VAL;
    for (int64_t i = 0; x && i < batch; i++) {
        double e = backward_error(run, igh_values(run, A) + i * n * n,
                                  igh_values(run, B) + i * n * k, x + i * n * k);
        worst = e <= worst ? worst : e;
    }
    const double rounding = run->type == INGOT_SCALAR_F32 ? 0 : igh_ulp(run->type, 1);
    igh_metric(run, "op(a) x = b", worst, 3e-7 * sqrt((double)(n > 1 ? n : 1)) + rounding);
    free(x);
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    const double batch = (double)(run->test->n[0] < 0 ? 1 : run->test->n[0]);
    const double n = (double)run->test->n[1], k = (double)run->test->n[2];
    *bytes = batch * (n * n / 2 + 2 * n * k) * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = batch * n * n * k;
}

static const struct igh_suite triangular_solve = {
    .operation = "triangular_solve",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = (const char *const[]){"batch", "n", "k", "exponent", NULL},
    .flag_names = (const char *const[]){"upper", "transposed", "unit", "right", "in place",
                                        "strided", "far apart", NULL},
    .declare = declare,
    .launch = launch,
    .verify = verify,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&triangular_solve};
const struct igh_suites igh_suites_triangular = {suites, 1};
