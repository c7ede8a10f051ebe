/* Matrices for the cases of linear algebra. */
#include <math.h>
#include <stdlib.h>

#include "common/matrices_cases.h"

const char *igh_matrix_kind_name(enum igh_matrix_kind kind) {
    static const char *const names[] = {
        "normal", "low rank", "graded",       "tiny",    "huge",     "mixed",   "zero",
        "ones",   "identity", "zero columns", "Hilbert", "positive", "diagonal"};
    return names[kind];
}

static double normal(struct igh_run *run) {
    double u = igh_random(run), v = igh_random(run);
    return sqrt(-2 * log(1 - u)) * cos(2 * M_PI * v);
}

static void fill_product(struct igh_run *run, double *a, int64_t rows, int64_t columns,
                         int64_t rank) {
    double *x = malloc(sizeof *x * (size_t)(rows * rank + 1));
    double *y = malloc(sizeof *y * (size_t)(columns * rank + 1));
    if (x && y) {
        for (int64_t i = 0; i < rows * rank; i++) {
            x[i] = normal(run);
        }
        for (int64_t i = 0; i < columns * rank; i++) {
            y[i] = normal(run);
        }
        igh_matrix_multiply(x, y, a, rows, rank, columns, false);
    } else {
        ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for a matrix");
    }
    free(x);
    free(y);
}

static void fill_positive(struct igh_run *run, double *a, int64_t n) {
    double *x = malloc(sizeof *x * (size_t)(n * n + 1));
    if (!x) {
        ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for a matrix");
        return;
    }
    for (int64_t i = 0; i < n * n; i++) {
        x[i] = normal(run) / sqrt((double)n);
    }
    igh_matrix_multiply(x, x, a, n, n, n, true);
    for (int64_t i = 0; i < n; i++) {
        a[i * n + i] += 0.05;
    }
    free(x);
}

static double column_factor(enum igh_matrix_kind kind, int64_t j, int64_t columns) {
    static const double mixed[] = {1e30, 1, 1e-30};
    switch (kind) {
    case IGH_MATRIX_GRADED:
        return pow(10, columns > 1 ? -8 + 16.0 * (double)j / (double)(columns - 1) : 0);
    case IGH_MATRIX_TINY:
        return 1e-30;
    case IGH_MATRIX_HUGE:
        return 1e30;
    case IGH_MATRIX_MIXED:
        return mixed[j % 3];
    case IGH_MATRIX_ZERO_COLUMNS:
        return j % 3 != 0;
    default:
        return 1;
    }
}

static double element(struct igh_run *run, enum igh_matrix_kind kind, int64_t i, int64_t j,
                      int64_t columns) {
    switch (kind) {
    case IGH_MATRIX_ZERO:
        return 0;
    case IGH_MATRIX_ONES:
        return 1;
    case IGH_MATRIX_IDENTITY:
        return i == j;
    case IGH_MATRIX_HILBERT:
        return 1 / (double)(i + j + 1);
    case IGH_MATRIX_DIAGONAL:
        return normal(run) + (i == j ? (double)columns : 0);
    default:
        return normal(run) * column_factor(kind, j, columns);
    }
}

void igh_matrix_input(struct igh_run *run, int slot, const char *name, int64_t batch, int64_t rows,
                      int64_t columns, enum igh_matrix_kind kind) {
    const int64_t shape[3] = {batch, rows, columns};
    const int64_t smaller = rows < columns ? rows : columns, size = rows * columns;
    const uint32_t rank = batch < 0 ? 2 : 3;
    igh_input(run, slot, name, run->type, rank, batch < 0 ? shape + 1 : shape,
              (struct igh_fill){IGH_NORMAL, 0, 1});
    if (kind == IGH_MATRIX_NORMAL) {
        return;
    }
    batch = batch < 0 ? 1 : batch;
    double *values = malloc(sizeof *values * (size_t)(batch * size + 1));
    if (!values) {
        ig_fail(&run->error, INGOT_OUT_OF_MEMORY, "no memory for a matrix");
        return;
    }
    for (int64_t b = 0; b < batch; b++) {
        double *a = values + b * size;
        if (run->for_speed && b >= 16) { /* the same ones again */
            for (int64_t i = 0; i < size; i++) {
                a[i] = values[b % 16 * size + i];
            }
        } else if (kind == IGH_MATRIX_LOW_RANK) {
            fill_product(run, a, rows, columns, (smaller + 1) / 2);
        } else if (kind == IGH_MATRIX_POSITIVE) {
            fill_positive(run, a, rows);
        } else {
            for (int64_t i = 0; i < size; i++) {
                a[i] = element(run, kind, i / columns, i % columns, columns);
            }
        }
    }
    igh_set(run, slot, values, true);
    free(values);
}

void igh_matrix_multiply(const double *a, const double *b, double *c, int64_t rows, int64_t inner,
                         int64_t columns, bool transposed) {
    for (int64_t i = 0; i < rows; i++) {
        double *restrict row = c + i * columns;
        for (int64_t j = 0; j < columns; j++) {
            row[j] = 0;
        }
        for (int64_t l = 0; l < inner; l++) {
            const double x = transposed ? a[l * rows + i] : a[i * inner + l];
            const double *restrict other = b + l * columns;
            if (x != 0) {
                for (int64_t j = 0; j < columns; j++) {
                    row[j] += x * other[j];
                }
            }
        }
    }
}

double igh_matrix_orthogonality(const double *q, int64_t rows, int64_t columns) {
    double worst = 0, *product = malloc(sizeof *product * (size_t)(columns * columns + 1));
    if (!product) {
        return HUGE_VAL;
    }
    igh_matrix_multiply(q, q, product, columns, rows, columns, true);
    for (int64_t i = 0; i < columns * columns; i++) {
        double error = fabs(product[i] - (i / columns == i % columns));
        worst = error <= worst ? worst : error; /* a NaN stays */
    }
    free(product);
    return worst;
}

double igh_matrix_column_error(const double *a, const double *b, int64_t rows, int64_t columns) {
    double worst = 0;
    for (int64_t j = 0; j < columns; j++) {
        double size = 0, apart = 0;
        for (int64_t i = 0; i < rows; i++) {
            double x = a[i * columns + j], d = x - b[i * columns + j];
            size += x * x;
            apart += d * d;
        }
        double error = sqrt(size > 0 ? apart / size : apart);
        worst = error <= worst ? worst : error;
    }
    return worst;
}

double igh_matrix_norm(const double *a, int64_t count) {
    double sum = 0;
    for (int64_t i = 0; i < count; i++) {
        sum += a[i] * a[i];
    }
    return sqrt(sum);
}

double igh_matrix_error(const double *a, const double *b, int64_t count) {
    double apart = 0, size = igh_matrix_norm(a, count);
    for (int64_t i = 0; i < count; i++) {
        apart += (a[i] - b[i]) * (a[i] - b[i]);
    }
    return size > 0 ? sqrt(apart) / size : sqrt(apart);
}

double igh_matrix_bound(const struct igh_run *run, int64_t n) {
    const double root = sqrt((double)(n > 1 ? n : 1));
    const double rounding = run->type == INGOT_SCALAR_F32 ? 0 : igh_ulp(run->type, 1);
    return (1e-5 + rounding) * root;
}
