/* The cases of quantise and dequantise. n = {rows, columns, bits, group, biases}. */
#include <math.h>
#include <stdlib.h>

#include "quantise/quantise_reference.h"

enum { X, PACKED, SCALES, BIASES, OUT };

static const struct igh_case cases[] = {
    {.name = "0x64 4 bits", .n = {0, 64, 4, 64, 0}},
    {.name = "1x32 4 bits by 32", .n = {1, 32, 4, 32, 0}},
    {.name = "7x96 4 bits by 32, biases", .n = {7, 96, 4, 32, 1}},
    {.name = "5x192 4 bits by 64", .n = {5, 192, 4, 64, 0}},
    {.name = "33x384 4 bits by 128, biases", .n = {33, 384, 4, 128, 1}},
    {.name = "3x96 8 bits by 32", .n = {3, 96, 8, 32, 0}},
    {.name = "9x192 8 bits by 64, biases", .n = {9, 192, 8, 64, 1}},
    {.name = "17x256 8 bits by 128", .n = {17, 256, 8, 128, 0}},
    {.name = "1024x4096 4 bits by 64, biases",
     .n = {1024, 4096, 4, 64, 1},
     .uses = IGH_BENCH | IGH_TUNE},
};

static struct igh_quantised_slots weights(const struct igh_run *run) {
    return igh_quantised_at(PACKED, run->test->n);
}

static uint32_t bits(const struct igh_run *run) {
    return (uint32_t)run->test->n[2];
}

static uint32_t group(const struct igh_run *run) {
    return (uint32_t)run->test->n[3];
}

static double type_bytes(const struct igh_run *run) {
    return run->type == INGOT_SCALAR_F32 ? 4 : 2;
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    double elements = (double)run->test->n[0] * (double)run->test->n[1];
    double per_group = type_bytes(run) * (run->test->n[4] ? 2 : 1);
    *bytes = elements * (type_bytes(run) + bits(run) / 8.0 + per_group / group(run));
    *flops = 2 * elements;
}

/* ---- quantise: no element is further from what it became than half a step ---- */

static void declare_quantise(struct igh_run *run) {
    const int64_t *n = run->test->n;
    const int64_t words[] = {n[0], n[1] * n[2] / 32}, groups[] = {n[0], n[1] / n[3]};
    igh_input(run, X, "x", run->type, 2, n, (struct igh_fill){IGH_NORMAL, 0.1, 1});
    igh_output(run, PACKED, "packed", INGOT_SCALAR_U32, 2, words);
    igh_output(run, SCALES, "scales", run->type, 2, groups);
    if (n[4]) {
        igh_output(run, BIASES, "biases", run->type, 2, groups);
    }
}

static ingot_status launch_quantise(struct igh_run *run) {
    const ingot_quantise_desc desc = {
        .x = igh_tensor(run, X),
        .out = igh_quantised(run, weights(run)),
    };
    return ingot_op_quantise(run->ops, run->stream, &desc);
}

/* Puts what was packed where igh_quantised_values looks for it. */
static void take_back(struct igh_run *run, int slot) {
    double *got = igh_got(run, slot);
    for (int64_t i = 0, n = igh_count(run, slot); got && i < n; i++) {
        run->slots[slot].values[i] = got[i];
    }
    free(got);
}

static void verify_quantise(struct igh_run *run) {
    int64_t count = igh_count(run, X), per_group = run->test->n[3];
    take_back(run, PACKED);
    take_back(run, SCALES);
    if (run->test->n[4]) {
        take_back(run, BIASES);
    }
    double *back = igh_quantised_values(run, weights(run));
    const double *x = igh_values(run, X), *scales = igh_values(run, SCALES);
    double worst = back ? 0 : INFINITY;
    for (int64_t i = 0; back && i < count; i++) {
        double step = fabs(scales[i / per_group]), largest = 0;
        for (int64_t k = i / per_group * per_group, end = k + per_group; k < end; k++) {
            largest = fmax(largest, fabs(x[k]));
        }
        /* Symmetric groups have no number for +8 steps: up to a whole step at that end. The stored
         * scale and bias are rounded, which moves the ends of the range. */
        double slack =
            (1u << bits(run)) * step * igh_ulp(run->type, 1) + largest * igh_ulp(run->type, 1);
        double allowed = (run->test->n[4] ? 0.5 : 1) * step + slack + 1e-6 * step;
        worst = fmax(worst, fabs(back[i] - x[i]) / allowed);
    }
    igh_metric(run, "distance in steps", worst, 1);
    free(back);
}

/* ---- dequantise: exact up to one rounding ---- */

static void declare_dequantise(struct igh_run *run) {
    igh_quantised_inputs(run, weights(run));
    igh_output(run, OUT, "out", run->type, 2, run->test->n);
}

static ingot_status launch_dequantise(struct igh_run *run) {
    const ingot_dequantise_desc desc = {
        .x = igh_quantised(run, weights(run)),
        .out = igh_tensor(run, OUT),
    };
    return ingot_op_dequantise(run->ops, run->stream, &desc);
}

static void reference_dequantise(struct igh_run *run) {
    double *values = igh_quantised_values(run, weights(run));
    for (int64_t i = 0, n = igh_count(run, OUT); values && i < n; i++) {
        igh_expected(run, OUT)[i] = values[i];
    }
    free(values);
}

static const struct igh_suite quantise = {
    .operation = "quantise",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .declare = declare_quantise,
    .launch = launch_quantise,
    .verify = verify_quantise,
    .cost = cost,
};

static const struct igh_suite dequantise = {
    .operation = "dequantise",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .declare = declare_dequantise,
    .launch = launch_dequantise,
    .reference = reference_dequantise,
    .cost = cost,
};

extern const struct igh_suite igh_suite_quantised_matmul; /* quantise_cases_matmul.c */

static const struct igh_suite *const suites[] = {&quantise, &dequantise,
                                                 &igh_suite_quantised_matmul};
const struct igh_suites igh_suites_quantise = {suites, 3};
