/* The cases of rms_norm and of its backward. */
#include "common/norm_cases.h"

enum { X, WEIGHT, OUT, RSTD, DY, DX, DWEIGHT };
enum { NO_DWEIGHT = NORM_OWN };

static const struct igh_case cases[] = {
    ROW_SMALLEST_CASES,
    {.name = "33x127 f32 weight", .n = {33, 127}, .flags = WEIGHT_F32 | SAVE},
    {.name = "33x129 no weight", .n = {33, 129}, .flags = NO_WEIGHT},
    {.name = "64x1000 in place", .n = {64, 1000}, .flags = IN_PLACE},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}, .flags = SAVE},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "7x333 large", .n = {7, 333}, .f = {0, 1e4}, .flags = SAVE},
    {.name = "7x333 squares overflow",
     .n = {7, 333},
     .f = {0, 1e37},
     .types = IGH_TYPE(INGOT_SCALAR_F32) | IGH_TYPE(INGOT_SCALAR_BF16)},
    {.name = "7x333 tiny", .n = {7, 333}, .f = {0, 1e-3}},
    {.name = "3x131072", .n = {3, 131072}},
    {.name = "2x100003", .n = {2, 100003}, .flags = WEIGHT_F32},
    {.name = "5x3072 f32 weight", .n = {5, 3072}, .flags = WEIGHT_F32},
    {.name = "9x5120", .n = {9, 5120}, .flags = SAVE},
    {.name = "3x8192 in place", .n = {3, 8192}, .flags = IN_PLACE},
    {.name = "2x12288 no weight", .n = {2, 12288}, .flags = NO_WEIGHT},
    {.name = "64x256", .n = {64, 256}, .uses = IGH_ALL},
    {.name = "512x1024", .n = {512, 1024}, .uses = IGH_ALL},
    {.name = "8192x4096", .n = {8192, 4096}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "4096x8192", .n = {4096, 8192}, .uses = IGH_BENCH},
    {.name = "32768x1024", .n = {32768, 1024}, .uses = IGH_BENCH | IGH_TUNE},
    ROW_LARGE_CASES,
};

static void declare_inputs(struct igh_run *run) {
    norm_x(run, X);
    norm_weight(run, WEIGHT);
}

/* ---- forward ---- */

static void declare(struct igh_run *run) {
    declare_inputs(run);
    row_result(run, run->test->flags & IN_PLACE, X, OUT, "out");
    if (run->test->flags & SAVE) {
        igh_output(run, RSTD, "rstd", INGOT_SCALAR_F32, 1, run->test->n);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_rms_norm_desc desc = {
        .x = igh_tensor(run, X),
        .weight = igh_tensor(run, WEIGHT),
        .out = igh_tensor(run, run->test->flags & IN_PLACE ? X : OUT),
        .rstd = igh_tensor(run, RSTD),
    };
    return ingot_op_rms_norm(run->ops, run->stream, &desc);
}

static void forward_to(const struct igh_run *run, double *out, double *rstds) {
    const double *x = igh_values(run, X), *weight = igh_values(run, WEIGHT);
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        double rstd = rms_rstd(x + r * columns, columns);
        if (rstds) {
            rstds[r] = rstd;
        }
        for (int64_t c = 0; c < columns; c++) {
            out[r * columns + c] = x[r * columns + c] * rstd * (weight ? weight[c] : 1);
        }
    }
}

static void reference(struct igh_run *run) {
    forward_to(run, igh_expected(run, run->test->flags & IN_PLACE ? X : OUT),
               igh_tensor(run, RSTD) ? igh_expected(run, RSTD) : NULL);
}

static struct igh_bound bound(const struct igh_run *run, int slot) {
    double terms = (double)run->test->n[1];
    return (struct igh_bound){.ulps = slot == RSTD ? 3 + sqrt(terms) / 16 : row_ulps(run, terms)};
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    row_cost(run, X, 2, 4, bytes, flops);
}

static const char *const number_names[] = {"mean", "deviation", NULL};
static const char *const flag_names[] = {"no_weight", "weight_f32", "rstd",
                                         "in_place",  "no_dweight", NULL};

static const struct igh_suite rms_norm = {
    .operation = "rms_norm",
    .types = IGH_FLOATS,
    .size_names = row_size_names,
    .number_names = number_names,
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
    ROW_SMALLEST_CASES,
    {.name = "33x127 f32 weight", .n = {33, 127}, .flags = WEIGHT_F32 | SAVE},
    {.name = "33x129 no weight", .n = {33, 129}, .flags = NO_WEIGHT | NO_DWEIGHT},
    {.name = "20x129 dweight of no weight", .n = {20, 129}, .flags = NO_WEIGHT},
    {.name = "64x1000 no dweight", .n = {64, 1000}, .flags = NO_DWEIGHT},
    {.name = "40x300 in place", .n = {40, 300}, .flags = IN_PLACE},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}, .flags = SAVE},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "1x100003", .n = {1, 100003}},
    {.name = "100x1024", .n = {100, 1024}},
    {.name = "64x256", .n = {64, 256}, .flags = SAVE, .uses = IGH_ALL},
    {.name = "512x1024", .n = {512, 1024}, .flags = SAVE, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "4096x4096", .n = {4096, 4096}, .flags = SAVE, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "16384x1024", .n = {16384, 1024}, .flags = SAVE, .uses = IGH_BENCH},
};

/* rstd as a forward call would have left it, which needs x. */
static void declare_saved(struct igh_run *run) {
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    row_set_random(run, X);
    igh_input(run, RSTD, "rstd", INGOT_SCALAR_F32, 1, run->test->n,
              (struct igh_fill){IGH_CONSTANT, 1, 0});
    double *rstds = calloc((size_t)rows, sizeof *rstds);
    for (int64_t r = 0; rstds && !run->for_speed && r < rows; r++) {
        rstds[r] = rms_rstd(igh_values(run, X) + r * columns, columns);
    }
    if (rstds) {
        igh_set(run, RSTD, rstds, false);
    }
    free(rstds);
}

static void declare_backward(struct igh_run *run) {
    uint32_t flags = run->test->flags;
    declare_inputs(run);
    row_input(run, DY, "dy", (struct igh_fill){IGH_NORMAL, 0, 1});
    if (flags & SAVE) {
        declare_saved(run);
    }
    row_result(run, run->test->flags & IN_PLACE, DY, DX, "dx");
    if (!(flags & NO_DWEIGHT)) {
        norm_gradient(run, DWEIGHT, "dweight");
    }
}

static ingot_status launch_backward(struct igh_run *run) {
    const ingot_rms_norm_backward_desc desc = {
        .x = igh_tensor(run, X),
        .weight = igh_tensor(run, WEIGHT),
        .dy = igh_tensor(run, DY),
        .rstd = igh_tensor(run, RSTD),
        .dx = igh_tensor(run, run->test->flags & IN_PLACE ? DY : DX),
        .dweight = igh_tensor(run, DWEIGHT),
    };
    return ingot_op_rms_norm_backward(run->ops, run->stream, &desc);
}

static void reference_backward(struct igh_run *run) {
    const double *weight = igh_values(run, WEIGHT), *rstds = igh_values(run, RSTD);
    double *dx = igh_expected(run, run->test->flags & IN_PLACE ? DY : DX);
    double *dweight = igh_tensor(run, DWEIGHT) ? igh_expected(run, DWEIGHT) : NULL;
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        const double *x = igh_values(run, X) + r * columns;
        const double *dy = igh_values(run, DY) + r * columns;
        double rstd = rstds ? rstds[r] : rms_rstd(x, columns), mean = 0;
        for (int64_t c = 0; c < columns; c++) {
            mean += dy[c] * (weight ? weight[c] : 1) * x[c] * rstd / (double)columns;
        }
        for (int64_t c = 0; c < columns; c++) {
            double g = dy[c] * (weight ? weight[c] : 1);
            dx[r * columns + c] = rstd * (g - x[c] * rstd * mean);
            if (dweight) {
                dweight[c] += dy[c] * x[c] * rstd;
            }
        }
    }
}

static void forward(const struct igh_run *run, double *out) {
    forward_to(run, out, NULL);
}

static struct igh_bound bound_backward(const struct igh_run *run, int slot) {
    return rms_bound_backward(run, X, slot == DWEIGHT);
}

static void cost_backward(const struct igh_run *run, double *bytes, double *flops) {
    row_cost(run, X, 3, 12, bytes, flops);
}

static const struct igh_suite backward = {
    .operation = "rms_norm_backward",
    .types = IGH_FLOATS,
    .size_names = row_size_names,
    .number_names = number_names,
    .flag_names = flag_names,
    IGH_CASES(backward_cases),
    .declare = declare_backward,
    .launch = launch_backward,
    .reference = reference_backward,
    .bound = bound_backward,
    .cost = cost_backward,
    .forward = forward,
    .upstream = DY,
    .gradients = {{X, DX}, {WEIGHT, DWEIGHT}},
    .gradient_count = 2,
};

static const struct igh_suite *const suites[] = {&rms_norm, &backward};
const struct igh_suites igh_suites_rms_norm = {suites, 2};
