/* The cases of layer_norm and of its backward. f[0], f[1]: mean and deviation of x. */
#include "common/norm_cases.h"

enum { X, WEIGHT, BIAS, OUT, MEAN, RSTD, DY, DX, DWEIGHT, DBIAS };
enum { NO_BIAS = NORM_OWN };

#define F32 IGH_TYPE(INGOT_SCALAR_F32)

static const struct igh_case cases[] = {
    ROW_SMALLEST_CASES,
    {.name = "33x127 f32 weight", .n = {33, 127}, .flags = WEIGHT_F32 | SAVE},
    {.name = "33x129 no weight, no bias", .n = {33, 129}, .flags = NO_WEIGHT | NO_BIAS},
    {.name = "33x129 no bias", .n = {33, 129}, .flags = NO_BIAS},
    {.name = "9x130 no weight", .n = {9, 130}, .flags = NO_WEIGHT | SAVE},
    {.name = "64x1000 in place", .n = {64, 1000}, .flags = IN_PLACE},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}, .flags = SAVE},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "7x333 mean 1000", .n = {7, 333}, .f = {1000, 1}, .flags = SAVE},
    {.name = "7x3333 mean 1e5", .n = {7, 3333}, .f = {1e5, 1}, .types = F32},
    {.name = "7x333 large", .n = {7, 333}, .f = {0, 1e4}},
    {.name = "7x333 tiny", .n = {7, 333}, .f = {0, 1e-3}},
    {.name = "3x131072", .n = {3, 131072}, .f = {100, 1}},
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

static const char *const number_names[] = {"mean", "deviation", NULL};
static const char *const flag_names[] = {"no_weight", "weight_f32", "statistics",
                                         "in_place",  "no_bias",    NULL};

static void declare_inputs(struct igh_run *run) {
    norm_x(run, X);
    norm_weight(run, WEIGHT);
}

struct statistics {
    double mean, rstd;
};

static struct statistics row_statistics(const double *x, int64_t columns) {
    double mean = 0, variance = 0;
    for (int64_t c = 0; c < columns; c++) {
        mean += x[c] / (double)columns;
    }
    for (int64_t c = 0; c < columns; c++) {
        variance += (x[c] - mean) * (x[c] - mean) / (double)columns;
    }
    return (struct statistics){mean, 1 / sqrt(variance + (double)1e-5f)};
}

/* ---- forward ---- */

static void declare(struct igh_run *run) {
    declare_inputs(run);
    if (!(run->test->flags & NO_BIAS)) {
        igh_input(run, BIAS, "bias", norm_weight_type(run), 1, run->test->n + 1,
                  (struct igh_fill){IGH_NORMAL, 0, 0.5});
    }
    row_result(run, run->test->flags & IN_PLACE, X, OUT, "out");
    if (run->test->flags & SAVE) {
        igh_output(run, MEAN, "mean", INGOT_SCALAR_F32, 1, run->test->n);
        igh_output(run, RSTD, "rstd", INGOT_SCALAR_F32, 1, run->test->n);
    }
}

static ingot_status launch(struct igh_run *run) {
    const ingot_layer_norm_desc desc = {
        .x = igh_tensor(run, X),
        .weight = igh_tensor(run, WEIGHT),
        .bias = igh_tensor(run, BIAS),
        .out = igh_tensor(run, run->test->flags & IN_PLACE ? X : OUT),
        .mean = igh_tensor(run, MEAN),
        .rstd = igh_tensor(run, RSTD),
    };
    return ingot_op_layer_norm(run->ops, run->stream, &desc);
}

static void forward_to(const struct igh_run *run, double *out, double *means, double *rstds) {
    const double *x = igh_values(run, X);
    const double *weight = igh_values(run, WEIGHT), *bias = igh_values(run, BIAS);
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        struct statistics s = row_statistics(x + r * columns, columns);
        if (means) {
            means[r] = s.mean;
        }
        if (rstds) {
            rstds[r] = s.rstd;
        }
        for (int64_t c = 0; c < columns; c++) {
            out[r * columns + c] =
                (x[r * columns + c] - s.mean) * s.rstd * (weight ? weight[c] : 1) +
                (bias ? bias[c] : 0);
        }
    }
}

static void reference(struct igh_run *run) {
    forward_to(run, igh_expected(run, run->test->flags & IN_PLACE ? X : OUT),
               igh_tensor(run, MEAN) ? igh_expected(run, MEAN) : NULL,
               igh_tensor(run, RSTD) ? igh_expected(run, RSTD) : NULL);
}

/* Results are sums of numbers around 1, and where they cancel, roundings of these count: those of
 * the last steps, and that of the row's mean, a part of sqrt(n). The error does not depend on how
 * large the mean of x is. */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    double terms = (double)run->test->n[1];
    if (slot == MEAN) {
        return (struct igh_bound){.ulps = 2, .absolute = ROW_EPSILON * (run->test->f[1] + 1)};
    }
    return (struct igh_bound){.ulps = slot == RSTD ? 3 + sqrt(terms) / 16 : row_ulps(run, terms),
                              .absolute = slot == RSTD ? 0 : (6 + sqrt(terms) / 16) * ROW_EPSILON};
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    row_cost(run, X, 2, 8, bytes, flops);
}

static const struct igh_suite layer_norm = {
    .operation = "layer_norm",
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
    {.name = "33x129 no weight", .n = {33, 129}, .flags = NO_WEIGHT},
    {.name = "64x1000 no dbias", .n = {64, 1000}, .flags = NO_BIAS},
    {.name = "40x300 in place", .n = {40, 300}, .flags = IN_PLACE},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}, .flags = SAVE},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "7x333 mean 1000", .n = {7, 333}, .f = {1000, 1}, .types = F32},
    {.name = "1x100003", .n = {1, 100003}},
    {.name = "64x256", .n = {64, 256}, .flags = SAVE, .uses = IGH_ALL},
    {.name = "512x1024", .n = {512, 1024}, .flags = SAVE, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "4096x4096", .n = {4096, 4096}, .flags = SAVE, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "16384x1024", .n = {16384, 1024}, .flags = SAVE, .uses = IGH_BENCH},
};

/* mean and rstd as a forward call would have left them, which need x. */
static void declare_saved(struct igh_run *run) {
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    row_set_random(run, X);
    igh_input(run, MEAN, "mean", INGOT_SCALAR_F32, 1, run->test->n,
              (struct igh_fill){IGH_CONSTANT, 0, 0});
    igh_input(run, RSTD, "rstd", INGOT_SCALAR_F32, 1, run->test->n,
              (struct igh_fill){IGH_CONSTANT, 1, 0});
    double *means = calloc(2 * (size_t)rows, sizeof *means), *rstds = means + rows;
    for (int64_t r = 0; means && !run->for_speed && r < rows; r++) {
        struct statistics s = row_statistics(igh_values(run, X) + r * columns, columns);
        means[r] = s.mean;
        rstds[r] = s.rstd;
    }
    if (means) {
        igh_set(run, MEAN, means, false);
        igh_set(run, RSTD, rstds, false);
    }
    free(means);
}

static void declare_backward(struct igh_run *run) {
    uint32_t flags = run->test->flags;
    declare_inputs(run);
    row_input(run, DY, "dy", (struct igh_fill){IGH_NORMAL, 0, 1});
    if (flags & SAVE) {
        declare_saved(run);
    }
    row_result(run, run->test->flags & IN_PLACE, DY, DX, "dx");
    if (!(flags & NO_WEIGHT)) {
        norm_gradient(run, DWEIGHT, "dweight");
    }
    if (!(flags & NO_BIAS)) {
        norm_gradient(run, DBIAS, "dbias");
    }
}

static ingot_status launch_backward(struct igh_run *run) {
    const ingot_layer_norm_backward_desc desc = {
        .x = igh_tensor(run, X),
        .weight = igh_tensor(run, WEIGHT),
        .dy = igh_tensor(run, DY),
        .mean = igh_tensor(run, MEAN),
        .rstd = igh_tensor(run, RSTD),
        .dx = igh_tensor(run, run->test->flags & IN_PLACE ? DY : DX),
        .dweight = igh_tensor(run, DWEIGHT),
        .dbias = igh_tensor(run, DBIAS),
    };
    return ingot_op_layer_norm_backward(run->ops, run->stream, &desc);
}

static void reference_backward(struct igh_run *run) {
    const double *weight = igh_values(run, WEIGHT);
    double *dx = igh_expected(run, run->test->flags & IN_PLACE ? DY : DX);
    double *dweight = igh_tensor(run, DWEIGHT) ? igh_expected(run, DWEIGHT) : NULL;
    double *dbias = igh_tensor(run, DBIAS) ? igh_expected(run, DBIAS) : NULL;
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        const double *x = igh_values(run, X) + r * columns;
        const double *dy = igh_values(run, DY) + r * columns;
        struct statistics s = row_statistics(x, columns);
        double mean_g = 0, mean_gn = 0;
        for (int64_t c = 0; c < columns; c++) {
            double g = dy[c] * (weight ? weight[c] : 1) / (double)columns;
            mean_g += g;
            mean_gn += g * (x[c] - s.mean) * s.rstd;
        }
        for (int64_t c = 0; c < columns; c++) {
            double n = (x[c] - s.mean) * s.rstd, g = dy[c] * (weight ? weight[c] : 1);
            dx[r * columns + c] = s.rstd * (g - mean_g - n * mean_gn);
            if (dweight) {
                dweight[c] += dy[c] * n;
            }
            if (dbias) {
                dbias[c] += dy[c];
            }
        }
    }
}

static void forward(const struct igh_run *run, double *out) {
    forward_to(run, out, NULL, NULL);
}

/* dx is a difference of numbers around 1 times rstd, dweight and dbias sums of such numbers: where
 * they cancel, the few float32 roundings of these count, for the sums sqrt(rows) times. */
static struct igh_bound bound_backward(const struct igh_run *run, int slot) {
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    bool along_columns = slot == DWEIGHT || slot == DBIAS;
    double terms = (double)(along_columns ? rows : columns), scale = 1;
    for (int64_t r = 0; r < rows && !along_columns; r++) {
        scale = fmax(scale, row_statistics(igh_values(run, X) + r * columns, columns).rstd);
    }
    return (struct igh_bound){.ulps = row_ulps(run, terms),
                              .absolute =
                                  ROW_EPSILON * (along_columns ? 16 * sqrt(terms) : 8 * scale)};
}

static void cost_backward(const struct igh_run *run, double *bytes, double *flops) {
    row_cost(run, X, 3, 20, bytes, flops);
}

static const struct igh_suite backward = {
    .operation = "layer_norm_backward",
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

static const struct igh_suite *const suites[] = {&layer_norm, &backward};
const struct igh_suites igh_suites_layer_norm = {suites, 2};
