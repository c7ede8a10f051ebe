/* The cases of fill. n[0] = elements, n[1] = first element, f[0] = value. */
#include <math.h>

#include "harness/harness.h"

enum { OUT };
enum { INTEGERS = IGH_TYPE(INGOT_SCALAR_I32) | IGH_TYPE(INGOT_SCALAR_U32) };

static const struct igh_case cases[] = {
    {.name = "0", .n = {0}, .f = {2}},
    {.name = "1", .n = {1}, .f = {7}},
    {.name = "127", .n = {127}, .f = {3}},
    {.name = "1000 at 3", .n = {1000, 3}, .f = {5}},
    {.name = "1 at 1", .n = {1, 1}, .f = {5}},
    {.name = "2 at 1", .n = {2, 1}, .f = {5}},
    {.name = "1001 at 2", .n = {1001, 2}, .f = {5}},
    {.name = "8321", .n = {8321}, .f = {0}},
    {.name = "a third", .n = {300}, .f = {1.0 / 3}, .types = IGH_FLOATS},
    {.name = "infinity", .n = {300}, .f = {INFINITY}, .types = IGH_FLOATS},
    {.name = "NaN", .n = {300}, .f = {NAN}, .types = IGH_FLOATS},
    {.name = "-2^31", .n = {300}, .f = {-0x1p31}, .types = IGH_TYPE(INGOT_SCALAR_I32)},
    {.name = "2^32 - 1", .n = {300}, .f = {0x1p32 - 1}, .types = IGH_TYPE(INGOT_SCALAR_U32)},
    {.name = "1M", .n = {1 << 20}, .f = {1.5}, .uses = IGH_CHECK | IGH_BENCH, .types = IGH_FLOATS},
    {.name = "16M", .n = {1 << 24}, .f = {1.5}, .uses = IGH_BENCH | IGH_TUNE, .types = IGH_FLOATS},
};

static const char *const size_names[] = {"count", "first", NULL};
static const char *const number_names[] = {"value", NULL};

static void declare(struct igh_run *run) {
    igh_output(run, OUT, "out", run->type, 1, run->test->n);
    if (run->test->n[1]) {
        igh_strides(run, OUT, (int64_t[]){1}, run->test->n[1]);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_fill_desc desc = {.out = igh_tensor(run, OUT), .value = run->test->f[0]};
    return ingot_op_fill(run->ops, run->stream, &desc);
}

static void reference(struct igh_run *run) {
    double *out = igh_expected(run, OUT);
    for (int64_t i = 0, n = igh_count(run, OUT); i < n; i++) {
        out[i] = run->test->f[0];
    }
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    *bytes = (double)igh_count(run, OUT) *
             (run->type == INGOT_SCALAR_F16 || run->type == INGOT_SCALAR_BF16 ? 2 : 4);
    *flops = 0;
}

static const struct igh_suite fill = {
    .operation = "fill",
    .types = IGH_FLOATS | INTEGERS,
    IGH_CASES(cases),
    .size_names = size_names,
    .number_names = number_names,
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .cost = cost,
};

static const struct igh_suite *const suites[] = {&fill};
const struct igh_suites igh_suites_fill = {suites, 1};
