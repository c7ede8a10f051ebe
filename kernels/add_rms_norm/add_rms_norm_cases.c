/* The cases of add_rms_norm and of its backward. */
#include "common/row_cases.h"

enum { X, RESIDUAL, WEIGHT, SUM, OUT, RSTD, DY, DSUM, DX, DWEIGHT };
enum { NO_WEIGHT = 1, WEIGHT_F32 = 2, SAVE = 4, IN_PLACE = 8, NO_DSUM = 16 };

#define ALL (IGH_CHECK | IGH_BENCH | IGH_TUNE)

static const struct igh_case cases[] = {
    {.name = "0x8", .n = {0, 8}},
    {.name = "3x0", .n = {3, 0}},
    {.name = "1x1", .n = {1, 1}},
    {.name = "5x7", .n = {5, 7}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "33x127 f32 weight", .n = {33, 127}, .flags = WEIGHT_F32 | SAVE},
    {.name = "33x129 no weight", .n = {33, 129}, .flags = NO_WEIGHT},
    {.name = "64x1000 in place", .n = {64, 1000}, .flags = IN_PLACE},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}, .flags = SAVE},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "2x100003", .n = {2, 100003}, .flags = WEIGHT_F32},
    {.name = "64x256", .n = {64, 256}, .uses = ALL},
    {.name = "512x1024", .n = {512, 1024}, .uses = ALL},
    {.name = "4096x4096", .n = {4096, 4096}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "2048x8192", .n = {2048, 8192}, .uses = IGH_BENCH},
    {.name = "16384x1024", .n = {16384, 1024}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "large 8192x4096", .n = {8192, 4096}, .uses = IGH_LARGE, .types = IGH_F32_BF16},
    {.name = "large 32768x8192", .n = {32768, 8192}, .uses = IGH_LARGE, .types = IGH_F32_BF16},
    {.name = "large 65536x1024", .n = {65536, 1024}, .uses = IGH_LARGE, .types = IGH_F32_BF16},
};

static const char *const size_names[] = {"rows", "row", "row_stride", "first", NULL};
static const char *const flag_names[] = {"no_weight", "weight_f32", "rstd",
                                         "in_place",  "no_dsum",    NULL};

static void declare_weight(struct igh_run *run) {
    uint32_t flags = run->test->flags;
    if (!(flags & NO_WEIGHT)) {
        igh_input(run, WEIGHT, "weight", flags & WEIGHT_F32 ? INGOT_SCALAR_F32 : run->type, 1,
                  run->test->n + 1, (struct igh_fill){IGH_NORMAL, 1, 0.25});
    }
}

static double row_rstd(const double *x, int64_t columns) {
    double sum = 0;
    for (int64_t c = 0; c < columns; c++) {
        sum += x[c] * x[c];
    }
    return 1 / sqrt(sum / (double)columns + (double)1e-6f);
}

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
    declare_weight(run);
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
        double rstd = row_rstd(sum + r * columns, columns);
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
    double n = (double)igh_count(run, X);
    *bytes = 4 * n * row_element_bytes(run);
    *flops = 5 * n;
}

static const struct igh_suite add_rms_norm = {
    .operation = "add_rms_norm",
    .types = IGH_FLOATS,
    .size_names = size_names,
    .flag_names = flag_names,
    .cases = cases,
    .case_count = sizeof cases / sizeof *cases,
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
    {.name = "64x256", .n = {64, 256}, .uses = ALL},
    {.name = "4096x4096", .n = {4096, 4096}, .uses = IGH_BENCH | IGH_TUNE},
};

static int dx_slot(const struct igh_run *run) {
    return run->test->flags & IN_PLACE ? DSUM : DX;
}

static void declare_backward(struct igh_run *run) {
    uint32_t flags = run->test->flags;
    row_input(run, SUM, "sum", (struct igh_fill){IGH_NORMAL, 0, 2});
    declare_weight(run);
    row_input(run, DY, "dy", (struct igh_fill){IGH_NORMAL, 0, 1});
    if (!(flags & NO_DSUM)) {
        row_input(run, DSUM, "dsum", (struct igh_fill){IGH_NORMAL, 0, 1});
    }
    if (flags & IN_PLACE) {
        run->slots[DSUM].output = true;
    } else {
        row_output(run, DX, "dx");
    }
    igh_output(run, DWEIGHT, "dweight", flags & WEIGHT_F32 ? INGOT_SCALAR_F32 : run->type, 1,
               run->test->n + 1);
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
        double rstd = row_rstd(x, columns), mean = 0;
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
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    double terms = (double)(slot == DWEIGHT ? rows : columns), scale = 1;
    for (int64_t r = 0; r < rows && slot != DWEIGHT; r++) {
        scale = fmax(scale, row_rstd(igh_values(run, SUM) + r * columns, columns));
    }
    return (struct igh_bound){.ulps = row_ulps(run, terms),
                              .absolute =
                                  ROW_EPSILON * (slot == DWEIGHT ? 16 * sqrt(terms) : 6 * scale)};
}

/* L = sum(dy * out) + sum(dsum * sum), and the harness weighs what comes from here with dy: so the
 * second term is divided by it. */
static void forward(const struct igh_run *run, double *out) {
    const double *sum = igh_values(run, SUM), *weight = igh_values(run, WEIGHT);
    const double *dsum = igh_values(run, DSUM), *dy = igh_values(run, DY);
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        double rstd = row_rstd(sum + r * columns, columns);
        for (int64_t i = r * columns; i < (r + 1) * columns; i++) {
            out[i] = sum[i] * rstd * (weight ? weight[i - r * columns] : 1);
            if (dsum) {
                out[i] += sum[i] * dsum[i] / dy[i];
            }
        }
    }
}

static void cost_backward(const struct igh_run *run, double *bytes, double *flops) {
    double n = (double)igh_count(run, SUM);
    *bytes = 4 * n * row_element_bytes(run);
    *flops = 13 * n;
}

static const struct igh_suite backward = {
    .operation = "add_rms_norm_backward",
    .types = IGH_FLOATS,
    .size_names = size_names,
    .flag_names = flag_names,
    .cases = backward_cases,
    .case_count = sizeof backward_cases / sizeof *backward_cases,
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
