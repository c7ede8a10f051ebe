/* The cases of softmax and of its backward. n[4] and n[5]: x is [n4, n5, rows / n4 / n5, columns]
 * when they are set. f[0] = scale, f[1] = deviation of x, f[2] = causal offset. */
#include "common/softmax_cases.h"

enum {
    CAUSAL = 1,
    MASK_SAME = 2,
    MASK_F32 = 4,
    MASK_BOOL = 8,
    MASK_ROWS = 16,  /* a mask of the score matrix, for all matrices; otherwise of one row */
    MASK_BATCH = 32, /* [n4, 1, S, T] */
    IN_PLACE = 64,
    ALL_MASKED = 128, /* the first row */
};

static const struct igh_case cases[] = {
    ROW_SMALLEST_CASES,
    {.name = "33x127 scaled", .n = {33, 127}, .f = {0.125, 20}},
    {.name = "33x129 negative scale", .n = {33, 129}, .f = {-2}},
    {.name = "64x1000 in place", .n = {64, 1000}, .flags = IN_PLACE},
    {.name = "19x45 in place", .n = {19, 45}, .flags = IN_PLACE},
    {.name = "6x50", .n = {6, 50}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "7x333 wide range", .n = {7, 333}, .f = {1, 1000}},
    {.name = "16x8192", .n = {16, 8192}},
    {.name = "16x8193", .n = {16, 8193}},
    {.name = "2x100003", .n = {2, 100003}},
    {.name = "2x131072 in place", .n = {2, 131072}, .flags = IN_PLACE},
    {.name = "64x64 causal", .n = {64, 64}, .flags = CAUSAL},
    {.name = "6x40x300 causal, offset",
     .n = {240, 300, 0, 0, 2, 3},
     .f = {0.5, 1, 260},
     .flags = CAUSAL},
    {.name = "40x200 causal, offset -3", .n = {40, 200}, .f = {1, 1, -3}, .flags = CAUSAL},
    {.name = "6x40x9000 causal", .n = {24, 9000, 0, 0, 2, 3}, .f = {1, 1, 8000}, .flags = CAUSAL},
    {.name = "33x129 mask", .n = {33, 129}, .f = {0.5}, .flags = MASK_SAME},
    {.name = "33x129 f32 mask", .n = {33, 129}, .f = {0.5}, .flags = MASK_F32 | MASK_ROWS},
    {.name = "33x129 bool mask", .n = {33, 129}, .flags = MASK_BOOL | MASK_ROWS},
    {.name = "2x3x16x200 bool mask of a batch",
     .n = {96, 200, 0, 0, 2, 3},
     .flags = MASK_BOOL | MASK_BATCH},
    {.name = "2x3x16x200 mask of a batch",
     .n = {96, 200, 0, 0, 2, 3},
     .flags = MASK_SAME | MASK_BATCH},
    {.name = "2x3x16x200 mask, causal",
     .n = {96, 200, 0, 0, 2, 3},
     .flags = MASK_F32 | MASK_ROWS | CAUSAL},
    {.name = "3x9001 bool mask", .n = {3, 9001}, .flags = MASK_BOOL | MASK_ROWS},
    {.name = "9x50 all masked", .n = {9, 50}, .flags = MASK_BOOL | MASK_ROWS | ALL_MASKED},
    {.name = "9x9050 all masked", .n = {9, 9050}, .flags = MASK_BOOL | MASK_ROWS | ALL_MASKED},
    {.name = "64x256", .n = {64, 256}, .uses = IGH_ALL},
    {.name = "512x1024", .n = {512, 1024}, .uses = IGH_ALL},
    {.name = "8192x4096", .n = {8192, 4096}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "4096x8192", .n = {4096, 8192}, .uses = IGH_BENCH},
    {.name = "32768x1024", .n = {32768, 1024}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "256x32000", .n = {256, 32000}, .uses = IGH_BENCH | IGH_TUNE},
    ROW_LARGE_CASES,
};

static const char *const size_names[] = {"rows",  "row",   "row_stride", "first",
                                         "batch", "heads", NULL};
static const char *const number_names[] = {"scale", "deviation", "causal_offset", NULL};
static const char *const flag_names[] = {"causal",    "mask",       "mask_f32",
                                         "mask_bool", "mask_rows",  "mask_batch",
                                         "in_place",  "all_masked", NULL};

/* [rows, columns] or [n4, n5, rows / n4 / n5, columns]; returns the rank */
static uint32_t shape_of(const struct igh_case *test, int64_t shape[4]) {
    const int64_t *n = test->n;
    if (!n[4]) {
        shape[0] = n[0];
        shape[1] = n[1];
        return 2;
    }
    shape[0] = n[4];
    shape[1] = n[5];
    shape[2] = n[0] / n[4] / n[5];
    shape[3] = n[1];
    return 4;
}

static void declare_mask(struct igh_run *run) {
    uint32_t flags = run->test->flags;
    int64_t shape[4];
    uint32_t rank = shape_of(run->test, shape);
    ingot_scalar_type type = flags & MASK_BOOL  ? INGOT_SCALAR_BOOL
                             : flags & MASK_F32 ? INGOT_SCALAR_F32
                                                : run->type;
    struct igh_fill fill = {flags & MASK_BOOL ? IGH_INTEGER : IGH_NORMAL, 0,
                            flags & MASK_BOOL ? 2 : 1};
    if (flags & MASK_BATCH) {
        shape[1] = 1;
    }
    uint32_t used = flags & MASK_BATCH ? 4 : flags & MASK_ROWS ? 2 : 1;
    igh_input(run, MASK, "mask", type, used, shape + rank - used, fill);
    if (flags & ALL_MASKED) {
        int64_t count = igh_count(run, MASK);
        double *values = calloc((size_t)count, sizeof *values);
        for (int64_t i = run->test->n[1]; values && i < count; i++) {
            values[i] = igh_random(run) < 0.5;
        }
        if (values) {
            igh_set(run, MASK, values, false);
        }
        free(values);
    }
}

static void declare(struct igh_run *run) {
    int64_t shape[4];
    uint32_t rank = shape_of(run->test, shape);
    double deviation = run->test->f[1] == 0 ? 1 : run->test->f[1];
    igh_input(run, X, "x", run->type, rank, shape, (struct igh_fill){IGH_NORMAL, 0, deviation});
    row_place(run, X);
    if (run->test->flags & (MASK_SAME | MASK_F32 | MASK_BOOL)) {
        declare_mask(run);
    }
    if (run->test->flags & IN_PLACE) {
        run->slots[X].output = true;
    } else {
        igh_output(run, OUT, "out", run->type, rank, shape);
        row_place(run, OUT);
    }
}

static float scale_of(const struct igh_run *run) {
    return run->test->f[0] == 0 ? 1 : (float)run->test->f[0];
}

static ingot_status launch(struct igh_run *run) {
    const ingot_softmax_desc desc = {
        .x = igh_tensor(run, X),
        .out = igh_tensor(run, run->test->flags & IN_PLACE ? X : OUT),
        .mask = igh_tensor(run, MASK),
        .scale = (float)run->test->f[0],
        .causal = run->test->flags & CAUSAL,
        .causal_offset = (int64_t)run->test->f[2],
    };
    return ingot_op_softmax(run->ops, run->stream, &desc);
}

/* What is added to the score in column c of row r. */
static double mask_of(const struct igh_run *run, int64_t r, int64_t c, int64_t queries) {
    uint32_t flags = run->test->flags;
    int64_t columns = run->test->n[1], query = r % queries;
    if (flags & CAUSAL && c > query + (int64_t)run->test->f[2]) {
        return -INFINITY;
    }
    if (!igh_tensor(run, MASK)) {
        return 0;
    }
    int64_t row = flags & MASK_BATCH  ? r / (queries * run->test->n[5]) * queries + query
                  : flags & MASK_ROWS ? query
                                      : 0;
    double value = igh_values(run, MASK)[row * columns + c];
    return !(flags & MASK_BOOL) ? value : value != 0 ? 0 : -INFINITY;
}

static void reference(struct igh_run *run) {
    const double *x = igh_values(run, X);
    double *out = igh_expected(run, run->test->flags & IN_PLACE ? X : OUT);
    int64_t rows = run->test->n[0], columns = run->test->n[1], shape[4];
    uint32_t rank = shape_of(run->test, shape);
    for (int64_t r = 0; r < rows; r++) {
        double *e = out + r * columns, top = -INFINITY, sum = 0;
        for (int64_t c = 0; c < columns; c++) {
            double mask = mask_of(run, r, c, shape[rank - 2]);
            e[c] = isinf(mask) && mask < 0 ? -INFINITY
                                           : x[r * columns + c] * (double)scale_of(run) + mask;
            top = fmax(top, e[c]);
        }
        for (int64_t c = 0; c < columns; c++) {
            sum += e[c] = exp(e[c] - (isinf(top) && top < 0 ? 0 : top));
        }
        for (int64_t c = 0; c < columns; c++) {
            e[c] /= sum;
        }
    }
}

/* How far the scores of a row lie apart, at most: e to that is the ratio of its results. */
static double spread_of(const struct igh_run *run, int slot) {
    const double *out = igh_expected(run, slot);
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    double spread = 0;
    for (int64_t r = 0; out && r < rows; r++) {
        double least = INFINITY, most = 0;
        for (int64_t c = 0; c < columns; c++) {
            double value = out[r * columns + c];
            least = value > 0 ? fmin(least, value) : least; // not what is masked
            most = fmax(most, value);
        }
        spread = least < most ? fmax(spread, log(most / least)) : spread;
    }
    return spread;
}

/* The argument of exp is a difference of scores. It is rounded: half an ulp of it, 2^-24 times the
 * power of two below, is a relative error of the result, which is as many ulps, whatever is done
 * afterwards. So is that of a score, no larger than the scores' spread, that was a sum with a mask.
 * fast::exp itself has 2. */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    if (run->type != INGOT_SCALAR_F32) {
        return (struct igh_bound){.ulps = row_ulps(run, 0)};
    }
    const double smallest = 104; /* e^-104 is 0 */
    double spread = fmin(spread_of(run, slot), smallest);
    double roundings = run->test->flags & (MASK_SAME | MASK_F32) ? 2 : 1;
    return (struct igh_bound){.ulps = row_ulps(run, (double)run->test->n[1]) + 2 +
                                      roundings * exp2(floor(log2(fmax(spread, 1))))};
}

/* The rows of the result add up to 1. */
static void verify(struct igh_run *run) {
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    int slot = run->test->flags & IN_PLACE ? X : OUT;
    double *got = run->specials ? NULL : igh_got(run, slot), worst = 0;
    for (int64_t r = 0; got && r < rows && columns; r++) {
        double sum = 0;
        for (int64_t c = 0; c < columns; c++) {
            sum += got[r * columns + c];
        }
        if (!isnan(sum)) {
            worst = fmax(worst, fabs(sum - 1));
        }
    }
    free(got);
    double ulp = igh_ulp(run->type, 1);
    if (!run->specials) {
        igh_metric(run, "sum of a row - 1", worst, ulp * (4 + 0.25 * sqrt((double)columns)));
    }
}

static const struct igh_suite softmax = {
    .operation = "softmax",
    .types = IGH_FLOATS,
    .size_names = size_names,
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
    {.name = "33x127 scaled", .n = {33, 127}, .f = {0.125}},
    SOFTMAX_BACKWARD_CASES(IN_PLACE),
};

static void declare_backward(struct igh_run *run) {
    softmax_declare_backward(run, run->test->flags & IN_PLACE,
                             (struct igh_fill){IGH_UNIFORM, 0, 2 / (double)(run->test->n[1] + 1)});
}

static ingot_status launch_backward(struct igh_run *run) {
    const ingot_softmax_backward_desc desc = {
        .y = igh_tensor(run, Y),
        .dy = igh_tensor(run, DY),
        .dx = igh_tensor(run, run->test->flags & IN_PLACE ? DY : DX),
        .scale = (float)run->test->f[0],
    };
    return ingot_op_softmax_backward(run->ops, run->stream, &desc);
}

static void reference_backward(struct igh_run *run) {
    double *dx = igh_expected(run, run->test->flags & IN_PLACE ? DY : DX);
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        const double *y = igh_values(run, Y) + r * columns, *dy = igh_values(run, DY) + r * columns;
        double product = 0;
        for (int64_t c = 0; c < columns; c++) {
            product += y[c] * dy[c];
        }
        for (int64_t c = 0; c < columns; c++) {
            dx[r * columns + c] = (double)scale_of(run) * y[c] * (dy[c] - product);
        }
    }
}

/* y * exp(scale * x) over its sum, whose value at x = 0 is taken as 1: y is rounded. */
static void forward(const struct igh_run *run, double *out) {
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    for (int64_t r = 0; r < rows; r++) {
        const double *x = igh_values(run, X) + r * columns, *y = igh_values(run, Y) + r * columns;
        double sum = 1;
        for (int64_t c = 0; c < columns; c++) {
            sum += y[c] * expm1((double)scale_of(run) * x[c]);
        }
        for (int64_t c = 0; c < columns; c++) {
            out[r * columns + c] = y[c] * exp((double)scale_of(run) * x[c]) / sum;
        }
    }
}

static const struct igh_suite backward = {
    .operation = "softmax_backward",
    .types = IGH_FLOATS,
    .size_names = size_names,
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

static const struct igh_suite *const suites[] = {&softmax, &backward};
const struct igh_suites igh_suites_softmax = {suites, 2};
