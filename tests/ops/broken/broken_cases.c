/* Suites whose kernels are wrong on purpose, and one that is right: what `ingot health` says of
 * them is tested by tests/ops/run.sh. */
#include <stdlib.h>

#include "harness/harness.h"

/* Made by the build from broken.metal. */
extern const unsigned char broken_archive[], broken_archive_end[];

enum { X, OUT, RUNS };

static const struct igh_case cases[] = {
    {.name = "4x64", .n = {4, 64}},
    {.name = "3x33", .n = {3, 33}},
    {.name = "2x96 specials", .n = {2, 96}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "0x8", .n = {0, 8}},
    {.name = "64x4096", .n = {64, 4096}, .uses = IGH_BENCH},
};

static void declare(struct igh_run *run) {
    igh_input(run, X, "x", run->type, 2, run->test->n, (struct igh_fill){IGH_UNIFORM, 1, 2});
    igh_output(run, OUT, "out", run->type, 1, run->test->n);
    igh_input(run, RUNS, "runs", INGOT_SCALAR_U32, 1, run->test->n,
              (struct igh_fill){IGH_CONSTANT, 0, 0});
}

static ingot_status launch(struct igh_run *run) {
    ingot_library *library = NULL;
    ingot_kernel *kernel = NULL;
    const ingot_kernel_desc desc = {.name = run->suite->operation};
    const uint32_t sizes[2] = {(uint32_t)run->test->n[0], (uint32_t)run->test->n[1]};
    if (!sizes[0]) {
        return INGOT_OK;
    }
    ingot_status status = ingot_library_create_from_memory(
        run->device, broken_archive, (size_t)(broken_archive_end - broken_archive), &library);
    if (!status) {
        status = ingot_kernel_create(library, &desc, &kernel);
    }
    const ingot_arg args[] = {{.buffer = igh_tensor(run, X)->buffer},
                              {.buffer = igh_tensor(run, OUT)->buffer},
                              {.bytes = sizes, .size = sizeof sizes},
                              {.buffer = igh_tensor(run, RUNS)->buffer}};
    const ingot_dispatch_desc dispatch = {
        .kernel = kernel, .threads = {sizes[0]}, .group = {32}, .args = args, .arg_count = 4};
    if (!status) {
        status = ingot_stream_dispatch(run->stream, &dispatch);
    }
    ingot_kernel_release(kernel);
    ingot_library_release(library);
    return status;
}

static void reference(struct igh_run *run) {
    const double *x = igh_values(run, X);
    double *out = igh_expected(run, OUT);
    for (int64_t i = 0; i < run->test->n[0]; i++) {
        out[i] = 0;
        for (int64_t k = 0; k < run->test->n[1]; k++) {
            out[i] += x[i * run->test->n[1] + k];
        }
    }
}

static struct igh_bound bound(const struct igh_run *run, int slot) {
    (void)run;
    (void)slot;
    return (struct igh_bound){.ulps = 16};
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    *flops = (double)igh_count(run, X);
    *bytes = 4 * *flops;
}

#define SUITE(name)                                                                                \
    static const struct igh_suite name = {                                                         \
        .operation = #name,                                                                        \
        .types = IGH_TYPE(INGOT_SCALAR_F32),                                                       \
        .cases = cases,                                                                            \
        .case_count = sizeof cases / sizeof *cases,                                                \
        .size_names = (const char *const[]){"rows", "row", NULL},                                  \
        .declare = declare,                                                                        \
        .launch = launch,                                                                          \
        .reference = reference,                                                                    \
        .bound = bound,                                                                            \
        .cost = cost,                                                                              \
    }
SUITE(row_sum);
SUITE(row_sum_no_tail);
SUITE(row_sum_no_nan);
SUITE(row_sum_unsteady);
SUITE(strays);

extern const struct igh_suite cheating_axpy;
static const struct igh_suite *const suites[] = {
    &row_sum, &row_sum_no_tail, &row_sum_no_nan, &row_sum_unsteady, &strays, &cheating_axpy};
static const struct igh_suites broken = {suites, sizeof suites / sizeof *suites};
const struct igh_suites *const igh_all_suites[] = {&broken};
const size_t igh_all_suites_count = 1;
