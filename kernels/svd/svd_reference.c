/* Singular values in double precision: one-sided Jacobi, pair by pair. */
#include "svd/svd_reference.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

static int descending(const void *x, const void *y) {
    double a = *(const double *)x, b = *(const double *)y;
    return (a < b) - (a > b);
}

/* Makes two columns orthogonal; false when they were. */
static bool rotate(double *p, double *q, int64_t length) {
    double x = 0, y = 0, g = 0;
    for (int64_t i = 0; i < length; i++) {
        x += p[i] * p[i];
        y += q[i] * q[i];
        g += p[i] * q[i];
    }
    if (g == 0 || fabs(g) <= 1e-15 * sqrt(x) * sqrt(y)) {
        return false;
    }
    double zeta = (y - x) / (2 * g), t = (zeta < 0 ? -1 : 1) / (fabs(zeta) + hypot(zeta, 1));
    double c = 1 / hypot(t, 1), s = t * c;
    for (int64_t i = 0; i < length; i++) {
        double a = p[i], b = q[i];
        p[i] = c * a - s * b;
        q[i] = s * a + c * b;
    }
    return true;
}

void igh_singular_values(double *a, int64_t count, int64_t length, double *values) {
    bool turned = true;
    for (int sweep = 0; sweep < 40 && turned; sweep++) {
        turned = false;
        for (int64_t p = 0; p < count; p++) {
            for (int64_t q = p + 1; q < count; q++) {
                turned = rotate(a + p * length, a + q * length, length) || turned;
            }
        }
    }
    for (int64_t i = 0; i < count; i++) {
        double sum = 0;
        for (int64_t l = 0; l < length; l++) {
            sum += a[i * length + l] * a[i * length + l];
        }
        values[i] = sqrt(sum);
    }
    qsort(values, (size_t)count, sizeof *values, descending);
}
