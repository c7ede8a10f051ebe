/* The cases of cross_entropy. f[0] = label smoothing, f[1] = deviation of the logits. */
#include "common/row_cases.h"

enum { LOGITS, TARGETS, LOSS, DLOGITS, DLOSS };
enum {
    SUM = 1,
    NONE = 2, /* neither: the mean */
    WIDE = 4,
    IGNORE = 8, /* some targets are ignored */
    IGNORE_ALL = 16,
    NO_GRADIENT = 32,
    IN_PLACE = 64,
    WITH_DLOSS = 128,
    LOSS_SAME = 256,  /* the loss has the logits' type */
    BAD_TARGET = 512, /* that of the first row */
    NO_LOSS = 1024,
    IGNORE_ZERO = 2048, /* class 0 is the ignored one */
};

static const struct igh_case cases[] = {
    {.name = "0x8", .n = {0, 8}},
    {.name = "0x8 sum", .n = {0, 8}, .flags = SUM},
    {.name = "1x1", .n = {1, 1}},
    {.name = "5x7", .n = {5, 7}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "5x7 smoothing", .n = {5, 7}, .f = {0.1}, .flags = WITH_DLOSS},
    {.name = "33x127 sum", .n = {33, 127}, .flags = SUM | WIDE | WITH_DLOSS},
    {.name = "33x129 none", .n = {33, 129}, .flags = NONE | WITH_DLOSS},
    {.name = "33x129 none, same type",
     .n = {33, 129},
     .f = {0.2},
     .flags = NONE | LOSS_SAME | WIDE},
    {.name = "50x200 ignored", .n = {50, 200}, .flags = IGNORE | WIDE},
    {.name = "50x200 class 0 ignored", .n = {50, 20}, .f = {0.1}, .flags = IGNORE_ZERO},
    {.name = "50x200 ignored, none", .n = {50, 200}, .flags = IGNORE | NONE},
    {.name = "5x20 all ignored", .n = {5, 20}, .flags = IGNORE_ALL},
    {.name = "5x300 bad target", .n = {5, 300}, .flags = BAD_TARGET | NONE},
    {.name = "64x1000 in place", .n = {64, 1000}, .flags = IN_PLACE},
    {.name = "64x1000 no gradient", .n = {64, 1000}, .f = {0.1}, .flags = NO_GRADIENT | LOSS_SAME},
    {.name = "64x1000 no loss", .n = {64, 1000}, .flags = NO_LOSS},
    {.name = "17x640 strided", .n = {17, 640, 701, 3}},
    {.name = "3x5 far apart", .n = {3, 5, ROW_FAR}},
    {.name = "7x333 wide range", .n = {7, 333}, .f = {0, 100}, .flags = SUM},
    {.name = "1000x3", .n = {1000, 3}},
    {.name = "1x100003", .n = {1, 100003}, .f = {0.1}, .flags = SUM | WIDE},
    {.name = "64x256", .n = {64, 256}, .flags = WIDE, .uses = IGH_ALL},
    {.name = "256x32000", .n = {256, 32000}, .flags = WIDE, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "128x128256", .n = {128, 128256}, .flags = WIDE, .uses = IGH_BENCH | IGH_TUNE},
};

static const char *const number_names[] = {"label_smoothing", "deviation", NULL};
static const char *const flag_names[] = {
    "sum",   "none",      "int64",      "ignore",  "ignore_all",  "no_gradient", "in_place",
    "dloss", "loss_same", "bad_target", "no_loss", "ignore_zero", NULL};

static int64_t ignored(const struct igh_run *run) {
    return run->test->flags & IGNORE_ZERO ? 0 : -100;
}

static void declare_targets(struct igh_run *run) {
    uint32_t flags = run->test->flags;
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    igh_input(run, TARGETS, "targets", flags & WIDE ? INGOT_SCALAR_I64 : INGOT_SCALAR_I32, 1,
              run->test->n, (struct igh_fill){IGH_INTEGER, 0, (double)columns});
    double *values = calloc((size_t)rows + 1, sizeof *values);
    for (int64_t r = 0; values && r < rows; r++) {
        values[r] = floor(igh_random(run) * (double)columns);
        if (flags & IGNORE_ALL || (flags & IGNORE && igh_random(run) < 0.3)) {
            values[r] = -100;
        }
    }
    if (values && flags & BAD_TARGET) {
        values[0] = (double)columns;
    }
    if (values) {
        igh_set(run, TARGETS, values, true);
    }
    free(values);
}

static int gradient_slot(const struct igh_run *run) {
    return run->test->flags & IN_PLACE ? LOGITS : DLOGITS;
}

static void declare(struct igh_run *run) {
    uint32_t flags = run->test->flags, rank = flags & NONE ? 1 : 0;
    double deviation = run->test->f[1] == 0 ? 1 : run->test->f[1];
    row_input(run, LOGITS, "logits", (struct igh_fill){IGH_NORMAL, 0, deviation});
    declare_targets(run);
    if (!(flags & NO_LOSS)) {
        igh_output(run, LOSS, "loss", flags & LOSS_SAME ? run->type : INGOT_SCALAR_F32, rank,
                   run->test->n);
    }
    /* Without WITH_DLOSS the call does not get it, and it is 1 for the gradient check. */
    igh_input(run, DLOSS, "dloss", INGOT_SCALAR_F32, rank, run->test->n,
              flags & WITH_DLOSS ? (struct igh_fill){IGH_NORMAL, 1, 0.5}
                                 : (struct igh_fill){IGH_CONSTANT, 1, 0});
    igh_no_specials(run, DLOSS);
    if (flags & IN_PLACE) {
        run->slots[LOGITS].output = true;
    } else if (!(flags & NO_GRADIENT)) {
        row_output(run, DLOGITS, "dlogits");
    }
}

static ingot_status launch(struct igh_run *run) {
    uint32_t flags = run->test->flags;
    const ingot_cross_entropy_desc desc = {
        .logits = igh_tensor(run, LOGITS),
        .targets = igh_tensor(run, TARGETS),
        .loss = igh_tensor(run, LOSS),
        .dlogits = igh_tensor(run, gradient_slot(run)),
        .dloss = flags & WITH_DLOSS ? igh_tensor(run, DLOSS) : NULL,
        .reduction = flags & SUM    ? INGOT_REDUCTION_SUM
                     : flags & NONE ? INGOT_REDUCTION_NONE
                                    : INGOT_REDUCTION_MEAN,
        .label_smoothing = (float)run->test->f[0],
        .ignore_index = 0,
        .set_ignore_index = flags & IGNORE_ZERO,
    };
    return ingot_op_cross_entropy(run->ops, run->stream, &desc);
}

/* The loss of a row, and its gradient times g into `gradient`, which may be NULL. */
static double row_loss(const struct igh_run *run, int64_t row, double g, double *gradient) {
    int64_t columns = run->test->n[1], target = (int64_t)igh_values(run, TARGETS)[row];
    const double *x = igh_values(run, LOGITS) + row * columns;
    double s = (float)run->test->f[0], top = -INFINITY, sum = 0, mean = 0;
    if (target == ignored(run) || target < 0 || target >= columns) {
        double value = target == ignored(run) ? 0 : NAN;
        for (int64_t c = 0; gradient && c < columns; c++) {
            gradient[c] = value;
        }
        return value;
    }
    for (int64_t c = 0; c < columns; c++) {
        top = fmax(top, x[c]);
        mean += x[c] / (double)columns;
    }
    for (int64_t c = 0; c < columns; c++) {
        sum += exp(x[c] - top);
    }
    for (int64_t c = 0; gradient && c < columns; c++) {
        gradient[c] = g * (exp(x[c] - top) / sum - s / (double)columns - (c == target ? 1 - s : 0));
    }
    double loss = top + log(sum) - (1 - s) * x[target];
    return s == 0 ? loss : loss - s * mean;
}

/* What a row's loss is multiplied with on the way to the result: 1, or 1 / rows that count. */
static double row_share(const struct igh_run *run) {
    double counted = 0;
    if (run->test->flags & (SUM | NONE)) {
        return 1;
    }
    for (int64_t r = 0; r < run->test->n[0]; r++) {
        counted += (int64_t)igh_values(run, TARGETS)[r] != ignored(run);
    }
    return 1 / counted;
}

static void reference(struct igh_run *run) {
    uint32_t flags = run->test->flags;
    int64_t rows = run->test->n[0], columns = run->test->n[1];
    const double *dloss = igh_values(run, DLOSS);
    double share = row_share(run), total = 0;
    bool wants_gradient = igh_tensor(run, gradient_slot(run)) != NULL;
    for (int64_t r = 0; r < rows; r++) {
        double g = share * dloss[flags & NONE ? r : 0];
        double loss = row_loss(
            run, r, g, wants_gradient ? igh_expected(run, gradient_slot(run)) + r * columns : NULL);
        if (flags & NONE && igh_tensor(run, LOSS)) {
            igh_expected(run, LOSS)[r] = loss;
        }
        total += loss;
    }
    if (!(flags & NONE) && igh_tensor(run, LOSS)) {
        igh_expected(run, LOSS)[0] = flags & SUM ? total : total * share;
    }
}

static struct igh_bound bound(const struct igh_run *run, int slot) {
    double terms = (double)run->test->n[1];
    double size = run->test->f[1] == 0 ? 8 : 8 * run->test->f[1];
    if (slot == LOSS) {
        return (struct igh_bound){.ulps = run->test->flags & LOSS_SAME ? row_ulps(run, terms) : 6,
                                  .absolute = 2 * ROW_EPSILON * size};
    }
    double share = run->test->flags & (SUM | NONE) ? 1 : row_share(run);
    return (struct igh_bound){.ulps =
                                  row_ulps(run, terms) + (run->type == INGOT_SCALAR_F32 ? size : 0),
                              .absolute = isfinite(share) ? 4 * ROW_EPSILON * share : 0};
}

static void forward(const struct igh_run *run, double *out) {
    int64_t rows = run->test->n[0];
    double share = row_share(run), total = 0;
    for (int64_t r = 0; r < rows; r++) {
        double loss = row_loss(run, r, 1, NULL);
        if (run->test->flags & NONE) {
            out[r] = loss;
        }
        total += loss;
    }
    if (!(run->test->flags & NONE)) {
        out[0] = total * share;
    }
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    row_cost(run, LOGITS, 2, 9, bytes, flops);
}

static const struct igh_suite cross_entropy = {
    .operation = "cross_entropy",
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
    .forward = forward,
    .upstream = DLOSS,
    .gradients = {{LOGITS, DLOGITS}},
    .gradient_count = 1,
};

static const struct igh_suite *const suites[] = {&cross_entropy};
const struct igh_suites igh_suites_cross_entropy = {suites, 1};
