/* The cases of axpy. n = elements, first element; f[0] = alpha. */
#include "harness/harness.h"

enum { X, Y };

static const struct igh_case cases[] = {
    {.name = "0", .n = {0}, .f = {2}},
    {.name = "1", .n = {1}, .f = {2}},
    {.name = "1023", .n = {1023}, .f = {-0.5}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "5001 shifted", .n = {5001, 1}, .f = {3}},
    {.name = "1M", .n = {1 << 20}, .f = {1.5}, .uses = IGH_CHECK | IGH_BENCH | IGH_TUNE},
    {.name = "16M", .n = {1 << 24}, .f = {1.5}, .uses = IGH_BENCH | IGH_TUNE},
};

static const char *const size_names[] = {"count", "first", NULL};
static const char *const number_names[] = {"alpha", NULL};

static void declare(struct igh_run *run) {
    igh_input(run, X, "x", run->type, 1, run->test->n, (struct igh_fill){IGH_NORMAL, 0, 1});
    igh_inout(run, Y, "y", run->type, 1, run->test->n, (struct igh_fill){IGH_NORMAL, 0, 1});
    if (run->test->n[1]) {
        igh_strides(run, X, (int64_t[]){1}, run->test->n[1]);
        igh_strides(run, Y, (int64_t[]){1}, run->test->n[1]);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_axpy_desc desc = {
        .x = igh_tensor(run, X), .y = igh_tensor(run, Y), .alpha = (float)run->test->f[0]};
    return ingot_op_axpy(run->ops, run->stream, &desc);
}

static void reference(struct igh_run *run) {
    const double *x = igh_values(run, X), *y = igh_values(run, Y);
    double *out = igh_expected(run, Y), alpha = (float)run->test->f[0];
    for (int64_t i = 0, n = igh_count(run, Y); i < n; i++) {
        out[i] = alpha * x[i] + y[i];
    }
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    double n = (double)igh_count(run, X);
    *bytes = 3 * n * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = 2 * n;
}

static const struct igh_suite axpy = {
    .operation = "axpy",
    .types = IGH_FLOATS,
    IGH_CASES(cases),
    .size_names = size_names,
    .number_names = number_names,
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&axpy};
const struct igh_suites igh_suites_axpy = {suites, 1};
