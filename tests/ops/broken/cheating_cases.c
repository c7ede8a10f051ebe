/* axpy as `ingot tune` must not have it: with wide=1 only the first launch does its work, which is
 * fast and wrong; with simd=32 the launch is refused. What tune makes of it is tested by
 * tests/ops/run.sh. */
#include <stdlib.h>
#include <string.h>

#include "harness/harness.h"

enum { X, Y };

static const struct igh_case cases[] = {
    {.name = "64Ki", .n = {1 << 16}, .uses = IGH_CHECK | IGH_TUNE},
};

struct seen {
    ingot_ops *ops; /* that the last launch was by */
    bool cheats, refuses;
};

static void declare(struct igh_run *run) {
    igh_input(run, X, "x", run->type, 1, run->test->n, (struct igh_fill){IGH_NORMAL, 0, 1});
    igh_inout(run, Y, "y", run->type, 1, run->test->n, (struct igh_fill){IGH_NORMAL, 0, 1});
    run->own = calloc(1, sizeof(struct seen));
}

static ingot_status launch(struct igh_run *run) {
    struct seen *seen = run->own;
    if (!seen) {
        return INGOT_OUT_OF_MEMORY;
    }
    if (seen->ops == run->ops && seen->cheats) {
        return INGOT_OK;
    }
    const ingot_axpy_desc desc = {.x = igh_tensor(run, X), .y = igh_tensor(run, Y), .alpha = 2};
    ingot_status status = ingot_op_axpy(run->ops, run->stream, &desc);
    const char *variant = ingot_ops_last_variant();
    *seen = (struct seen){run->ops, strstr(variant, "wide1") != NULL,
                          strstr(variant, "/simd32.") != NULL};
    return status ? status : seen->refuses ? INGOT_LAUNCH_ERROR : INGOT_OK;
}

static void reference(struct igh_run *run) {
    const double *x = igh_values(run, X), *y = igh_values(run, Y);
    double *out = igh_expected(run, Y);
    for (int64_t i = 0, n = igh_count(run, Y); i < n; i++) {
        out[i] = 2 * x[i] + y[i];
    }
}

const struct igh_suite cheating_axpy = {
    .operation = "axpy",
    .types = IGH_TYPE(INGOT_SCALAR_F32),
    .cases = cases,
    .case_count = 1,
    .declare = declare,
    .launch = launch,
    .reference = reference,
};
