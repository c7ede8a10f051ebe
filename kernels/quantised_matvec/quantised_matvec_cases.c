/* The cases of quantised_matvec. n = {vectors, n, k, bits, group, biases, bias}. */
#include <math.h>
#include <stdlib.h>

#include "quantise/quantise_reference.h"

enum { X, PACKED, SCALES, BIASES, BIAS, OUT };
enum { FAR_APART = 1 }; /* the third row of x and out is past 2^31 elements */

#define BENCHED (IGH_BENCH | IGH_TUNE)
static const struct igh_case cases[] = {
    {.name = "1x0x64", .n = {1, 0, 64, 4, 32, 0, 0}},
    {.name = "1x5x0", .n = {1, 5, 0, 4, 32, 0, 1}},
    {.name = "1x1x32", .n = {1, 1, 32, 4, 32, 0, 0}},
    {.name = "1x37x1056 biases", .n = {1, 37, 1056, 4, 32, 1, 0}},
    {.name = "1x64x1024 by 64, bias", .n = {1, 64, 1024, 4, 64, 1, 1}},
    {.name = "1x65x4096 by 128", .n = {1, 65, 4096, 4, 128, 0, 0}},
    {.name = "1x3x1152 by 128", .n = {1, 3, 1152, 4, 128, 1, 0}},
    {.name = "1x30x896 by 128", .n = {1, 30, 896, 4, 128, 1, 0}},
    {.name = "1x70x18304 by 128, biases", .n = {1, 70, 18304, 4, 128, 1, 1}},
    {.name = "1x2055x3200 by 128, bias", .n = {1, 2055, 3200, 4, 128, 0, 1}},
    {.name = "1x8200x1024 by 128, biases", .n = {1, 8200, 1024, 4, 128, 1, 0}},
    {.name = "3x33x640 by 128, biases", .n = {3, 33, 640, 4, 128, 1, 0}},
    {.name = "5x40x1536 by 128, biases", .n = {5, 40, 1536, 4, 128, 1, 0}},
    {.name = "11x9x2080", .n = {11, 9, 2080, 4, 32, 0, 1}},
    {.name = "3x7x64 far apart", .n = {3, 7, 64, 4, 32, 1, 0}, .flags = FAR_APART},
    {.name = "1x50x1056 8 bits", .n = {1, 50, 1056, 8, 32, 1, 0}},
    {.name = "5x17x768 8 bits by 64", .n = {5, 17, 768, 8, 64, 0, 0}},
    {.name = "1x4096x4096 4 bits by 128", .n = {1, 4096, 4096, 4, 128, 1, 0}, .uses = BENCHED},
    {.name = "1x4096x4096 4 bits by 32", .n = {1, 4096, 4096, 4, 32, 0, 0}, .uses = BENCHED},
    {.name = "1x11008x4096 4 bits by 64", .n = {1, 11008, 4096, 4, 64, 1, 0}, .uses = BENCHED},
    {.name = "1x4096x4096 8 bits by 64", .n = {1, 4096, 4096, 8, 64, 1, 0}, .uses = BENCHED},
    {.name = "4x4096x4096 4 bits by 64", .n = {4, 4096, 4096, 4, 64, 1, 0}, .uses = BENCHED},
    {.name = "large 1x16384x16384 4 bits by 128",
     .n = {1, 16384, 16384, 4, 128, 1, 0},
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
};

static struct igh_quantised_slots weights(const struct igh_run *run) {
    return igh_quantised_at(PACKED, run->test->n + 1);
}

static void declare(struct igh_run *run) {
    const int64_t *n = run->test->n, x[] = {n[0], n[2]}, out[] = {n[0], n[1]};
    igh_input(run, X, "x", run->type, 2, x, (struct igh_fill){IGH_NORMAL, 0, 1});
    igh_quantised_inputs(run, weights(run));
    if (n[6]) {
        igh_input(run, BIAS, "bias", run->type, 1, &n[1], (struct igh_fill){IGH_NORMAL, 0, 1});
    }
    igh_output(run, OUT, "out", run->type, 2, out);
    if (run->test->flags & FAR_APART) {
        const int64_t strides[] = {((int64_t)1 << 30) + 64, 1};
        igh_strides(run, X, strides, 0);
        igh_strides(run, OUT, strides, 0);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_quantised_matvec_desc desc = {
        .x = igh_tensor(run, X),
        .weights = igh_quantised(run, weights(run)),
        .bias = igh_tensor(run, BIAS),
        .out = igh_tensor(run, OUT),
    };
    return ingot_op_quantised_matvec(run->ops, run->stream, &desc);
}

static void reference(struct igh_run *run) {
    const int64_t *n = run->test->n;
    double *w = igh_quantised_values(run, weights(run));
    const double *x = igh_values(run, X);
    for (int64_t v = 0; w && v < n[0]; v++) {
        for (int64_t row = 0; row < n[1]; row++) {
            double sum = n[6] ? igh_values(run, BIAS)[row] : 0;
            for (int64_t k = 0; k < n[2]; k++) {
                sum += w[row * n[2] + k] * x[v * n[2] + k];
            }
            igh_expected(run, OUT)[v * n[1] + row] = sum;
        }
    }
    free(w);
}

/* Terms are scale * q * x and bias * x, each up to about 2 |x|, so the sum of their magnitudes is
 * about k: an error of sqrt(k) * 2^-24 relative to it would be k * sqrt(k) * 2^-24. Signs are
 * random and a lane adds only a part of a row, so partial sums stay small, and the error is below
 * 16 * sqrt(k) such units. */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    (void)slot;
    double k = (double)run->test->n[2];
    return (struct igh_bound){.ulps = run->type == INGOT_SCALAR_F32 ? 1 : 0.51,
                              .absolute = 8 * sqrt(k + 32) * 0x1p-23};
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    const int64_t *n = run->test->n;
    double weights = (double)n[1] * (double)n[2], type = run->type == INGOT_SCALAR_F32 ? 4 : 2;
    *bytes = weights * ((double)n[3] / 8 + type * (n[5] ? 2 : 1) / (double)n[4]) +
             type * (double)(n[0] * (n[1] + n[2]));
    *flops = 2 * weights * (double)n[0];
}

static const struct igh_suite quantised_matvec = {
    .operation = "quantised_matvec",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .bound = bound,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&quantised_matvec};
const struct igh_suites igh_suites_quantised_matvec = {suites, 1};
