/* The cases of quantised_matmul. n = {m, n, k, bits, group, biases, bias, epilogue}. */
#include <math.h>
#include <stdlib.h>

#include "quantise/quantise_reference.h"

enum { X, PACKED, SCALES, BIASES, BIAS, OUT };

#define HALVES (IGH_TYPE(INGOT_SCALAR_F16) | IGH_TYPE(INGOT_SCALAR_BF16))
static const struct igh_case cases[] = {
    {.name = "0x16x64", .n = {0, 16, 64, 4, 32, 0, 0, 0}},
    {.name = "5x0x64", .n = {5, 0, 64, 4, 32, 0, 0, 0}},
    {.name = "12x7x0, bias", .n = {12, 7, 0, 4, 32, 0, 1, 0}},
    {.name = "3x33x96, few rows", .n = {3, 33, 96, 4, 32, 1, 1, 0}},
    {.name = "3x33x96, silu", .n = {3, 33, 96, 4, 32, 1, 1, 2}},
    {.name = "17x65x160", .n = {17, 65, 160, 4, 32, 0, 0, 0}},
    {.name = "40x130x256 by 64, bias", .n = {40, 130, 256, 4, 64, 1, 1, 0}},
    {.name = "33x1100x128 by 128, gelu", .n = {33, 1100, 128, 4, 128, 1, 0, 3}},
    {.name = "24x50x192 8 bits", .n = {24, 50, 192, 8, 64, 0, 1, 0}},
    {.name = "7x45x544 8 bits by 32, silu", .n = {7, 45, 544, 8, 32, 1, 1, 2}},
    {.name = "9x33x1120, biases", .n = {9, 33, 1120, 4, 32, 1, 0, 0}, .types = HALVES},
    {.name = "31x70x640 8 bits by 128", .n = {31, 70, 640, 8, 128, 0, 1, 0}},
    {.name = "64x130x1152 by 64, relu", .n = {64, 130, 1152, 4, 64, 1, 1, 1}, .types = HALVES},
    {.name = "70x260x416 8 bits by 32, biases", .n = {70, 260, 416, 8, 32, 1, 1, 0}},
    {.name = "130x140x480 by 32, bias", .n = {130, 140, 480, 4, 32, 0, 1, 0}},
    {.name = "257x129x192 8 bits by 64, biases", .n = {257, 129, 192, 8, 64, 1, 0, 2}},
    {.name = "5x70x1696", .n = {5, 70, 1696, 4, 32, 0, 0, 0}},
    {.name = "8x65x192 8 bits by 64, biases", .n = {8, 65, 192, 8, 64, 1, 1, 0}},
    {.name = "13x70x896 8 bits by 128, biases", .n = {13, 70, 896, 8, 128, 1, 0, 1}},
    {.name = "80x33x96 8 bits, biases", .n = {80, 33, 96, 8, 32, 1, 0, 0}},
    {.name = "140x300x1664 by 128", .n = {140, 300, 1664, 4, 128, 1, 0, 0}, .types = HALVES},
    {.name = "128x4096x4096 4 bits by 64",
     .n = {128, 4096, 4096, 4, 64, 1, 0, 0},
     .uses = IGH_BENCH | IGH_TUNE},
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
}

static ingot_status launch(struct igh_run *run) {
    const int64_t *n = run->test->n;
    const ingot_quantised_matmul_desc desc = {
        .x = igh_tensor(run, X),
        .weights = igh_quantised(run, weights(run)),
        .bias = igh_tensor(run, BIAS),
        .out = igh_tensor(run, OUT),
        .epilogue = (ingot_epilogue)n[7],
    };
    return ingot_op_quantised_matmul(run->ops, run->stream, &desc);
}

static double epilogue(double x, int64_t which) {
    return which == INGOT_EPILOGUE_RELU   ? fmax(x, 0)
           : which == INGOT_EPILOGUE_SILU ? x / (1 + exp(-x))
           : which == INGOT_EPILOGUE_GELU ? 0.5 * x * (1 + erf(x * M_SQRT1_2))
                                          : x;
}

static void reference(struct igh_run *run) {
    const int64_t *n = run->test->n;
    double *w = igh_quantised_values(run, weights(run));
    const double *x = igh_values(run, X);
    for (int64_t i = 0; w && i < n[0] * n[1]; i++) {
        int64_t row = i / n[1], column = i % n[1];
        double sum = n[6] ? igh_values(run, BIAS)[column] : 0;
        for (int64_t k = 0; k < n[2]; k++) {
            sum += w[column * n[2] + k] * x[row * n[2] + k];
        }
        igh_expected(run, OUT)[i] = epilogue(sum, n[7]);
    }
    free(w);
}

/* Twice what quantised_matvec has, since sums are not split between lanes; still far below k *
 * sqrt(k) units, which is sqrt(k) roundings of the terms' magnitudes. Weights are rounded to the
 * type of x before they are multiplied: half an ulp of about 2 each, so the sum is off by that by
 * sqrt(k). */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    (void)slot;
    double k = (double)run->test->n[2] + 32, weight = igh_ulp(run->type, 1.5);
    return (struct igh_bound){.ulps = run->type == INGOT_SCALAR_F32 ? 2 : 0.51,
                              .absolute =
                                  16 * sqrt(k) * 0x1p-23 +
                                  (run->type == INGOT_SCALAR_F32 ? 0 : 2 * sqrt(k) * weight)};
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    const int64_t *n = run->test->n;
    double weights = (double)n[1] * (double)n[2], type = run->type == INGOT_SCALAR_F32 ? 4 : 2;
    *bytes = weights * ((double)n[3] / 8 + type * (n[5] ? 2 : 1) / (double)n[4]) +
             type * (double)(n[0] * (n[1] + n[2]));
    *flops = 2 * weights * (double)n[0];
}

const struct igh_suite igh_suite_quantised_matmul = {
    .operation = "quantised_matmul",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .bound = bound,
    .cost = cost,
};
