/* The cases of add_rms_norm and of its backward. */
#include "common/norm_cases.h"

enum { X, RESIDUAL, WEIGHT, SUM, OUT, RSTD, DY, DSUM, DX, DWEIGHT };
enum { NO_DSUM = NORM_OWN };

static const struct igh_case cases[] = {
    ROW_SMALLEST_CASES,
    {.name = "33x127 f32 weight", .n = {33, 127}, .flags = WEIGHT_F32 | SAVE},
    {.name = "33x129 no weight", .n = {33, 129}, .flags = NO_WEIGHT},
    {.name = "64x1000 in place", .n = {64, 1000}, .flags = IN_PLACE},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}, .flags = SAVE},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "2x100003", .n = {2, 100003}, .flags = WEIGHT_F32},
    {.name = "64x256", .n = {64, 256}, .uses = IGH_ALL},
    {.name = "512x1024", .n = {512, 1024}, .uses = IGH_ALL},
    {.name = "4096x4096", .n = {4096, 4096}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "2048x8192", .n = {2048, 8192}, .uses = IGH_BENCH},
    {.name = "16384x1024", .n = {16384, 1024}, .uses = IGH_BENCH | IGH_TUNE},
    ROW_LARGE_CASES,
};

static const char *const flag_names[] = {"no_weight", "weight_f32", "rstd",
                                         "in_place",  "no_dsum",    NULL};

/* ---- forward ---- */

static int sum_slot(const struct igh_run *run) {
    return run->test->flags & IN_PLACE ? RESIDUAL : SUM;
}

static int out_slot(const struct igh_run *run) {
    return run->test->flags & IN_PLACE ? X : OUT;
}

static void declare(struct igh_run *run) {
    row_input(run, X, "x", (struct igh_fill){IGH_NORMAL, 0, 1});
    row_input(run, RESIDUAL, "residual", (struct igh_fill){IGH_NORMAL, 0.5, 2});
    norm_weight(run, WEIGHT);
    if (run->test->flags & IN_PLACE) {
        run->slots[X].output = run->slots[RESIDUAL].output = true;
    } else {
        row_output(run, SUM, "sum");
        row_output(run, OUT, "out");
    }
    if (run->test->flags & SAVE) {
        igh_output(run, RSTD, "rstd", INGOT_SCALAR_F32, 1, run->test->n);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_add_rms_norm_desc desc = {
        .x = igh_tensor(run, X),
        .residual = igh_tensor(run, RESIDUAL),
        .weight = igh_tensor(run, WEIGHT),
        .sum = igh_tensor(run, sum_slot(run)),
        .out = igh_tensor(run, out_slot(run)),
        .rstd = igh_tensor(run, RSTD),
    };
    return ingot_op_add_rms_norm(run->ops, run->stream, &desc);
}

/* The sum as its type holds it. */
static double rounded(ingot_scalar_type type, double v) {
    if (type == INGOT_SCALAR_F32 || !isfinite(v)) {
        return (float)v;
    }
    double ulp = igh_ulp(type, v), r = nearbyint(v / ulp) * ulp;
    return type == INGOT_SCALAR_F16 && fabs(r) > 65504 ? copysign(INFINITY, r) : r;
}

static void reference(struct igh_run *run) {
    const double *x = igh_values(run, X), *residual = igh_values(run, RESIDUAL);
    const double *weight = igh_values(run, WEIGHT);
    double *sum = igh_expected(run, sum_slot(run)), *out = igh_expected(run, out_slot(run));
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t i = 0; i < rows * columns; i++) {
        sum[i] = rounded(run->type, x[i] + residual[i]);
    }
    for (int64_t r = 0; r < rows; r++) {
        double rstd = rms_rstd(sum + r * columns, columns);
        if (igh_tensor(run, RSTD)) {
            igh_expected(run, RSTD)[r] = rstd;
        }
        for (int64_t c = 0; c < columns; c++) {
            out[r * columns + c] = sum[r * columns + c] * rstd * (weight ? weight[c] : 1);
        }
    }
}

static struct igh_bound bound(const struct igh_run *run, int slot) {
    double terms = (double)run->test->n[1];
    if (slot == sum_slot(run)) { /* exact, and then rounded once */
        return (struct igh_bound){.ulps = 0.51};
    }
    return (struct igh_bound){.ulps = slot == RSTD ? 3 + sqrt(terms) / 16 : row_ulps(run, terms)};
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    row_cost(run, X, 4, 5, bytes, flops);
}

static const struct igh_suite add_rms_norm = {
    .operation = "add_rms_norm",
    .types = IGH_FLOATS,
    .size_names = row_size_names,
    .flag_names = flag_names,
    IGH_CASES(cases),
    .declare = declare,
    .launch = launch,
    .reference = reference,
    .bound = bound,
    .cost = cost,
};

/* ---- backward ---- */

static const struct igh_case backward_cases[] = {
    {.name = "0x8", .n = {0, 8}},
    {.name = "1x1", .n = {1, 1}},
    {.name = "5x7", .n = {5, 7}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "33x127 f32 weight", .n = {33, 127}, .flags = WEIGHT_F32},
    {.name = "33x129 no weight", .n = {33, 129}, .flags = NO_WEIGHT},
    {.name = "20x129 no dsum", .n = {20, 129}, .flags = NO_DSUM},
    {.name = "40x300 in place", .n = {40, 300}, .flags = IN_PLACE},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "64x256", .n = {64, 256}, .uses = IGH_ALL},
    {.name = "4096x4096", .n = {4096, 4096}, .uses = IGH_BENCH | IGH_TUNE},
};

static int dx_slot(const struct igh_run *run) {
    return run->test->flags & IN_PLACE ? DSUM : DX;
}

static void declare_backward(struct igh_run *run) {
    uint32_t flags = run->test->flags;
    row_input(run, SUM, "sum", (struct igh_fill){IGH_NORMAL, 0, 2});
    norm_weight(run, WEIGHT);
    row_input(run, DY, "dy", (struct igh_fill){IGH_NORMAL, 0, 1});
    if (!(flags & NO_DSUM)) {
        row_input(run, DSUM, "dsum", (struct igh_fill){IGH_NORMAL, 0, 1});
    }
    row_result(run, run->test->flags & IN_PLACE, DSUM, DX, "dx");
    norm_gradient(run, DWEIGHT, "dweight");
}

static ingot_status launch_backward(struct igh_run *run) {
    const ingot_add_rms_norm_backward_desc desc = {
        .sum = igh_tensor(run, SUM),
        .weight = igh_tensor(run, WEIGHT),
        .dy = igh_tensor(run, DY),
        .dsum = igh_tensor(run, DSUM),
        .dx = igh_tensor(run, dx_slot(run)),
        .dweight = igh_tensor(run, DWEIGHT),
    };
    return ingot_op_add_rms_norm_backward(run->ops, run->stream, &desc);
}

static void reference_backward(struct igh_run *run) {
    const double *weight = igh_values(run, WEIGHT), *dsum = igh_values(run, DSUM);
    double *dx = igh_expected(run, dx_slot(run)), *dweight = igh_expected(run, DWEIGHT);
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        const double *x = igh_values(run, SUM) + r * columns;
        const double *dy = igh_values(run, DY) + r * columns;
        double rstd = rms_rstd(x, columns), mean = 0;
        for (int64_t c = 0; c < columns; c++) {
            mean += dy[c] * (weight ? weight[c] : 1) * x[c] * rstd / (double)columns;
        }
        for (int64_t c = 0; c < columns; c++) {
            double g = dy[c] * (weight ? weight[c] : 1);
            int64_t i = r * columns + c;
            dx[i] = rstd * (g - x[c] * rstd * mean) + (dsum ? dsum[i] : 0);
            dweight[c] += dy[c] * x[c] * rstd;
        }
    }
}

static struct igh_bound bound_backward(const struct igh_run *run, int slot) {
    return rms_bound_backward(run, SUM, slot == DWEIGHT);
}

/* L = sum(dy * out) + sum(dsum * sum), and the harness weighs what comes from here with dy: so the
 * second term is divided by it. */
static void forward(const struct igh_run *run, double *out) {
    const double *sum = igh_values(run, SUM), *weight = igh_values(run, WEIGHT);
    const double *dsum = igh_values(run, DSUM), *dy = igh_values(run, DY);
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        double rstd = rms_rstd(sum + r * columns, columns);
        for (int64_t i = r * columns; i < (r + 1) * columns; i++) {
            out[i] = sum[i] * rstd * (weight ? weight[i - r * columns] : 1);
            if (dsum) {
                out[i] += sum[i] * dsum[i] / dy[i];
            }
        }
    }
}

static void cost_backward(const struct igh_run *run, double *bytes, double *flops) {
    row_cost(run, SUM, 4, 13, bytes, flops);
}

static const struct igh_suite backward = {
    .operation = "add_rms_norm_backward",
    .types = IGH_FLOATS,
    .size_names = row_size_names,
    .flag_names = flag_names,
    IGH_CASES(backward_cases),
    .declare = declare_backward,
    .launch = launch_backward,
    .reference = reference_backward,
    .bound = bound_backward,
    .cost = cost_backward,
    .forward = forward,
    .upstream = DY,
    .gradients = {{SUM, DX}, {WEIGHT, DWEIGHT}},
    .gradient_count = 2,
};

static const struct igh_suite *const suites[] = {&add_rms_norm, &backward};
const struct igh_suites igh_suites_add_rms_norm = {suites, 2};
