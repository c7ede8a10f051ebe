/* Eigenvalues in double precision: cyclic Jacobi, row by row. */
#include "eigh/eigh_reference.h"

#include <math.h>
#include <stdlib.h>

static int ascending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a > b) - (a < b);
}

static void rotate(double *a, int64_t n, int64_t p, int64_t q) {
    double x = a[p * n + q], theta = (a[q * n + q] - a[p * n + p]) / (2 * x);
    double t = (theta < 0 ? -1 : 1) / (fabs(theta) + hypot(theta, 1));
    double c = 1 / hypot(t, 1), s = t * c;
    for (int64_t i = 0; i < n; i++) {
        double y = a[p * n + i], z = a[q * n + i];
        a[p * n + i] = c * y - s * z;
        a[q * n + i] = s * y + c * z;
    }
    for (int64_t i = 0; i < n; i++) {
        double y = a[i * n + p], z = a[i * n + q];
        a[i * n + p] = c * y - s * z;
        a[i * n + q] = s * y + c * z;
    }
}

void igh_symmetric_eigenvalues(double *a, int64_t n, double *values) {
    double size = 0;
    for (int64_t i = 0; i < n * n; i++) {
        size = fmax(size, fabs(a[i]));
    }
    for (int sweep = 0; sweep < 40; sweep++) {
        double off = 0;
        for (int64_t p = 0; p < n; p++) {
            for (int64_t q = p + 1; q < n; q++) {
                double x = fabs(a[p * n + q]);
                off = fmax(off, x);
                if (x > 1e-18 * size) {
                    rotate(a, n, p, q);
                }
            }
        }
        if (off <= 1e-15 * size) {
            break;
        }
    }
    for (int64_t i = 0; i < n; i++) {
        values[i] = a[i * n + i];
    }
    qsort(values, (size_t)n, sizeof *values, ascending);
}
