/* The cases of log_softmax and of its backward. f[0] = deviation of x. */
#include "common/softmax_cases.h"

enum { IN_PLACE = 1 };

static const struct igh_case cases[] = {
    ROW_SMALLEST_CASES,
    {.name = "33x127", .n = {33, 127}},
    {.name = "64x1000 in place", .n = {64, 1000}, .flags = IN_PLACE},
    {.name = "19x45 in place", .n = {19, 45}, .flags = IN_PLACE},
    {.name = "6x50", .n = {6, 50}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "7x333 wide range", .n = {7, 333}, .f = {1000}},
    {.name = "2x100003", .n = {2, 100003}},
    {.name = "64x256", .n = {64, 256}, .uses = IGH_ALL},
    {.name = "512x1024", .n = {512, 1024}, .uses = IGH_ALL},
    {.name = "8192x4096", .n = {8192, 4096}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "256x32000", .n = {256, 32000}, .uses = IGH_BENCH},
};

static const char *const number_names[] = {"deviation", NULL};
static const char *const flag_names[] = {"in_place", NULL};

static double deviation(const struct igh_run *run) {
    return run->test->f[0] == 0 ? 1 : run->test->f[0];
}

static void declare(struct igh_run *run) {
    row_input(run, X, "x", (struct igh_fill){IGH_NORMAL, 0, deviation(run)});
    row_result(run, run->test->flags & IN_PLACE, X, OUT, "out");
}

static ingot_status launch(struct igh_run *run) {
    const ingot_log_softmax_desc desc = {
        .x = igh_tensor(run, X), .out = igh_tensor(run, run->test->flags & IN_PLACE ? X : OUT)};
    return ingot_op_log_softmax(run->ops, run->stream, &desc);
}

static void reference(struct igh_run *run) {
    double *out = igh_expected(run, run->test->flags & IN_PLACE ? X : OUT);
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        const double *x = igh_values(run, X) + r * columns;
        double top = -INFINITY, sum = 0;
        for (int64_t c = 0; c < columns; c++) {
            top = fmax(top, x[c]);
        }
        for (int64_t c = 0; c < columns; c++) {
            sum += exp(x[c] - top);
        }
        for (int64_t c = 0; c < columns; c++) {
            out[r * columns + c] = x[c] - top - log(sum);
        }
    }
}

static struct igh_bound bound(const struct igh_run *run, int slot) {
    (void)slot;
    return (struct igh_bound){.ulps = row_ulps(run, (double)run->test->n[1]),
                              .absolute = 8 * ROW_EPSILON};
}

/* exp of a row adds up to 1. */
static void verify(struct igh_run *run) {
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    int slot = run->test->flags & IN_PLACE ? X : OUT;
    double *got = run->specials ? NULL : igh_got(run, slot), worst = 0;
    for (int64_t r = 0; got && r < rows && columns; r++) {
        double sum = 0;
        for (int64_t c = 0; c < columns; c++) {
            sum += exp(got[r * columns + c]);
        }
        worst = fmax(worst, fabs(sum - 1));
    }
    free(got);
    double size = fmax(1, log((double)columns + 1)) * 2;
    if (!run->specials) {
        igh_metric(run, "sum of exp(out) - 1", worst, igh_ulp(run->type, size) * 2);
    }
}

static const struct igh_suite log_softmax = {
    .operation = "log_softmax",
    .types = IGH_FLOATS,
    .size_names = row_size_names,
    .number_names = number_names,
    .flag_names = flag_names,
    IGH_CASES(cases),
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .bound = bound,
    .verify = verify,
    .cost = softmax_cost,
};

/* ---- backward ---- */

static const struct igh_case backward_cases[] = {
    ROW_SMALLEST_CASES,
    {.name = "33x127", .n = {33, 127}},
    SOFTMAX_BACKWARD_CASES(IN_PLACE),
};

static void declare_backward(struct igh_run *run) {
    double middle = -log((double)run->test->n[1] + 1);
    softmax_declare_backward(run, run->test->flags & IN_PLACE,
                             (struct igh_fill){IGH_UNIFORM, middle - 1, middle + 1});
}

static ingot_status launch_backward(struct igh_run *run) {
    const ingot_log_softmax_backward_desc desc = {
        .y = igh_tensor(run, Y),
        .dy = igh_tensor(run, DY),
        .dx = igh_tensor(run, run->test->flags & IN_PLACE ? DY : DX),
    };
    return ingot_op_log_softmax_backward(run->ops, run->stream, &desc);
}

static void reference_backward(struct igh_run *run) {
    double *dx = igh_expected(run, run->test->flags & IN_PLACE ? DY : DX);
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        const double *y = igh_values(run, Y) + r * columns, *dy = igh_values(run, DY) + r * columns;
        double sum = 0;
        for (int64_t c = 0; c < columns; c++) {
            sum += dy[c];
        }
        for (int64_t c = 0; c < columns; c++) {
            dx[r * columns + c] = dy[c] - exp(y[c]) * sum;
        }
    }
}

/* y + x - log(sum of exp(y + x)), where the sum at x = 0 is taken as 1: y is rounded. */
static void forward(const struct igh_run *run, double *out) {
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        const double *x = igh_values(run, X) + r * columns, *y = igh_values(run, Y) + r * columns;
        double sum = 0;
        for (int64_t c = 0; c < columns; c++) {
            sum += exp(y[c]) * expm1(x[c]);
        }
        for (int64_t c = 0; c < columns; c++) {
            out[r * columns + c] = y[c] + x[c] - log1p(sum);
        }
    }
}

static const struct igh_suite backward = {
    .operation = "log_softmax_backward",
    .types = IGH_FLOATS,
    .size_names = row_size_names,
    .number_names = number_names,
    .flag_names = flag_names,
    IGH_CASES(backward_cases),
    .declare = declare_backward,
    .launch = launch_backward,
    .reference = reference_backward,
    .bound = softmax_bound_backward,
    .cost = softmax_cost_backward,
    .forward = forward,
    .upstream = DY,
    .gradients = {{X, DX}},
    .gradient_count = 1,
};

static const struct igh_suite *const suites[] = {&log_softmax, &backward};
const struct igh_suites igh_suites_log_softmax = {suites, 2};
