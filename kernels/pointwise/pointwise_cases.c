/* The cases of the activations. n = rows, row; flags below. */
#include <math.h>

#include "harness/harness.h"

enum { ROWS, ROW };
enum {
    STRIDED = 1,  /* rows further apart than they are long, each tensor in its own way */
    IN_PLACE = 2, /* outputs are the inputs */
    HALVES = 4,   /* gate and up are the halves of one tensor, and so are their gradients */
    HUGE = 8,     /* offsets pass 2^31 elements */
    SHIFTED = 16, /* the first element is aligned to its own size only */
    FAR = 32 /* the activated numbers are up to a third of the greatest, where exponentials end */
};
enum { X, UP, D_OUT, OUT, OUT_UP };
enum kind { FORWARD, BACKWARD, MUL, MUL_BACKWARD };

static const struct igh_case plain_cases[] = {
    {.name = "0x5", .n = {0, 5}},
    {.name = "1x1", .n = {1, 1}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "1x127", .n = {1, 127}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "3x129", .n = {3, 129}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "5x1000 in place", .n = {5, 1000}, .flags = IN_PLACE},
    {.name = "7x333 strided", .n = {7, 333}, .flags = STRIDED, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "1x4099 shifted", .n = {1, 4099}, .flags = SHIFTED},
    {.name = "5x1000 far", .n = {5, 1000}, .flags = FAR, .types = IGH_TYPE(INGOT_SCALAR_F32)},
    {.name = "3x70 huge strides", .n = {3, 70}, .flags = HUGE},
    {.name = "64x1024", .n = {64, 1024}, .uses = IGH_CHECK | IGH_BENCH},
    {.name = "1024x1024", .n = {1024, 1024}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "8192x4096", .n = {8192, 4096}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "large 8192x4096", .n = {8192, 4096}, .uses = IGH_LARGE, .types = IGH_F32_BF16},
    {.name = "large 32768x8192", .n = {32768, 8192}, .uses = IGH_LARGE, .types = IGH_F32_BF16},
    {.name = "large 65536x1024", .n = {65536, 1024}, .uses = IGH_LARGE, .types = IGH_F32_BF16},
};

static const struct igh_case mul_cases[] = {
    {.name = "4x0", .n = {4, 0}},
    {.name = "1x1", .n = {1, 1}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "3x129", .n = {3, 129}, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "5x1000 in place", .n = {5, 1000}, .flags = IN_PLACE},
    {.name = "7x333 strided", .n = {7, 333}, .flags = STRIDED, .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "5x1000 far", .n = {5, 1000}, .flags = FAR, .types = IGH_TYPE(INGOT_SCALAR_F32)},
    {.name = "9x130 halves", .n = {9, 130}, .flags = HALVES},
    {.name = "6x4099 halves in place", .n = {6, 4099}, .flags = HALVES | IN_PLACE},
    {.name = "3x70 huge strides", .n = {3, 70}, .flags = HUGE},
    {.name = "16x4096", .n = {16, 4096}, .uses = IGH_CHECK | IGH_BENCH},
    {.name = "128x11008 halves", .n = {128, 11008}, .flags = HALVES, .uses = IGH_BENCH},
    {.name = "1024x11008", .n = {1024, 11008}, .uses = IGH_BENCH | IGH_TUNE},
};

static const char *const size_names[] = {"rows", "row", NULL};
static const char *const flag_names[] = {"strided", "in_place", "halves", "huge",
                                         "shifted", "far",      NULL};

/* ---- the functions in double ---- */

struct activation {
    double (*value)(double x);
    double (*slope)(double x);
};

static double silu_value(double x) {
    return x / (1 + exp(-x));
}

static double silu_slope(double x) {
    double s = 1 / (1 + exp(-x));
    return s * (1 + x * (1 - s));
}

static double gelu_value(double x) {
    return isinf(x) && x < 0 ? 0 : x * (0.5 * erfc(-x * M_SQRT1_2));
}

static double gelu_slope(double x) {
    return 0.5 * erfc(-x * M_SQRT1_2) + x * (exp(-0.5 * x * x) * 0.3989422804014327);
}

static const double GELU_TANH_SCALE = 0.7978845608028654; /* sqrt(2/pi) */

static double gelu_tanh_sigmoid(double x) {
    return 1 / (1 + exp(-2 * GELU_TANH_SCALE * (x + 0.044715 * x * x * x)));
}

static double gelu_tanh_value(double x) {
    return x * gelu_tanh_sigmoid(x);
}

static double gelu_tanh_slope(double x) {
    double s = gelu_tanh_sigmoid(x);
    return s + x * s * (1 - s) * 2 * GELU_TANH_SCALE * (1 + 3 * 0.044715 * x * x);
}

/* ---- tensors ---- */

static enum kind kind_of(const struct igh_run *run);
static const struct activation *activation_of(const struct igh_run *run);

static bool has(const struct igh_run *run, uint32_t flag) {
    return run->test->flags & flag;
}

static bool is_mul(const struct igh_run *run) {
    return kind_of(run) == MUL || kind_of(run) == MUL_BACKWARD;
}

static bool is_backward(const struct igh_run *run) {
    return kind_of(run) == BACKWARD || kind_of(run) == MUL_BACKWARD;
}

static void place(struct igh_run *run, int slot) {
    const int64_t *n = run->test->n;
    int64_t apart = has(run, HUGE)      ? ((int64_t)1 << 30) + 9
                    : has(run, STRIDED) ? n[ROW] + 5 * slot + 1
                                        : n[ROW];
    if (has(run, HUGE | STRIDED | SHIFTED)) {
        igh_strides(run, slot, (int64_t[]){apart, 1}, has(run, SHIFTED) ? 1 + slot : 0);
    }
}

static void input(struct igh_run *run, int slot, const char *name, double deviation, bool changed) {
    const int64_t *n = run->test->n;
    int64_t shape[] = {n[ROWS], slot == X && has(run, HALVES) ? 2 * n[ROW] : n[ROW]};
    (changed ? igh_inout : igh_input)(run, slot, name, run->type, 2, shape,
                                      (struct igh_fill){IGH_NORMAL, 0, deviation});
    place(run, slot);
}

static void output(struct igh_run *run, int slot, const char *name, bool fused) {
    const int64_t *n = run->test->n;
    igh_output(run, slot, name, run->type, 2, (int64_t[]){n[ROWS], fused ? 2 * n[ROW] : n[ROW]});
    place(run, slot);
}

/* In place, the forward result takes the place of x or up, and gradients those of their inputs. */
static void declare(struct igh_run *run) {
    bool in_place = has(run, IN_PLACE), halves = has(run, HALVES), mul = is_mul(run);
    bool fused_in_place = in_place && halves && !is_backward(run);
    input(run, X, mul ? halves ? "gate_up" : "gate" : "x", has(run, FAR) ? 2e37 : 3,
          in_place && !fused_in_place && (!mul || is_backward(run)));
    if (mul && !halves) {
        input(run, UP, "up", 1, in_place);
        if (activation_of(run)->value == gelu_value) {
            igh_no_specials(run, UP); /* gelu of minus infinity may be next to 0 */
        }
    }
    if (is_backward(run)) {
        input(run, D_OUT, "d_out", 1, false);
    }
    if (in_place && !fused_in_place) {
        return;
    }
    if (!is_backward(run)) {
        output(run, OUT, "out", false);
    } else {
        output(run, OUT, mul ? halves ? "d_gate_up" : "d_gate" : "d_x", halves);
    }
    if (kind_of(run) == MUL_BACKWARD && !halves) {
        output(run, OUT_UP, "d_up", false);
    }
}

/* A half of a tensor's rows. */
static ingot_tensor half_of(const struct igh_run *run, int slot, int which) {
    ingot_tensor t = *igh_tensor(run, slot);
    t.shape[1] = run->test->n[ROW];
    t.offset += (uint64_t)(which * t.shape[1]) * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    return t;
}

struct views {
    ingot_tensor gate, up, d_out, out, out_up;
};

static struct views views_of(const struct igh_run *run) {
    struct views v = {0};
    bool halves = has(run, HALVES), backward = is_backward(run);
    v.gate = halves ? half_of(run, X, 0) : *igh_tensor(run, X);
    if (is_mul(run)) {
        v.up = halves ? half_of(run, X, 1) : *igh_tensor(run, UP);
    }
    if (backward) {
        v.d_out = *igh_tensor(run, D_OUT);
    }
    if (!igh_tensor(run, OUT)) {
        v.out = kind_of(run) == MUL ? v.up : v.gate;
        v.out_up = v.up;
        return v;
    }
    v.out = halves && backward ? half_of(run, OUT, 0) : *igh_tensor(run, OUT);
    if (kind_of(run) == MUL_BACKWARD) {
        v.out_up = halves ? half_of(run, OUT, 1) : *igh_tensor(run, OUT_UP);
    }
    return v;
}

/* ---- reference ---- */

struct numbers {
    double gate, up, d_out;
};

static struct numbers numbers_at(const struct igh_run *run, int64_t i) {
    int64_t row = run->test->n[ROW], fused = i / row * 2 * row + i % row;
    bool halves = has(run, HALVES);
    const double *x = igh_values(run, X);
    return (struct numbers){
        .gate = x[halves ? fused : i],
        .up = !is_mul(run) ? 1
              : halves     ? x[fused + row]
                           : igh_values(run, UP)[i],
        .d_out = is_backward(run) ? igh_values(run, D_OUT)[i] : 1,
    };
}

static void reference(struct igh_run *run) {
    const int64_t row = run->test->n[ROW], count = run->test->n[ROWS] * row;
    const struct activation *f = activation_of(run);
    bool in_place = !igh_tensor(run, OUT), halves = has(run, HALVES);
    double *out = igh_expected(run, !in_place ? OUT : kind_of(run) == MUL ? UP : X);
    double *out_up = kind_of(run) != MUL_BACKWARD ? NULL
                     : halves                     ? out + row
                                                  : igh_expected(run, in_place ? UP : OUT_UP);
    for (int64_t i = 0; i < count; i++) {
        struct numbers a = numbers_at(run, i);
        int64_t at = halves && is_backward(run) ? i / row * 2 * row + i % row : i;
        out[at] = is_backward(run) ? a.d_out * a.up * f->slope(a.gate) : f->value(a.gate) * a.up;
        if (out_up) {
            out_up[at] = a.d_out * f->value(a.gate);
        }
    }
}

static void forward_only(const struct igh_run *run, double *out) {
    const struct activation *f = activation_of(run);
    for (int64_t i = 0, count = igh_count(run, D_OUT); i < count; i++) {
        struct numbers a = numbers_at(run, i);
        out[i] = f->value(a.gate) * a.up;
    }
}

/* float32: a few roundings of the result (and of the exponent for gelu_tanh, whose tail multiplies
 * them); for slopes, which pass through zero, of the terms that they are the sum of (other factors
 * are below 3.5 by construction). Halves: the rounding of that. */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    bool slope = is_backward(run) && slot != UP && slot != OUT_UP;
    bool tanh = activation_of(run)->value == gelu_tanh_value;
    struct igh_bound b = {.ulps = run->type != INGOT_SCALAR_F32 ? 1
                                  : tanh                        ? 16
                                                                : 8,
                          .absolute = 1e-9};
    if (slope) {
        b.absolute = is_mul(run) ? 1.5e-6 : 5e-7;
    }
    return b;
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    static const double tensors[] = {2, 3, 3, 5}, operations[] = {5, 10, 6, 13};
    double n = (double)(run->test->n[ROWS] * run->test->n[ROW]);
    *bytes = tensors[kind_of(run)] * n * (run->type == INGOT_SCALAR_F32 ? 4 : 2);
    *flops = operations[kind_of(run)] * n;
}

/* ---- suites ---- */

static ingot_status launch(struct igh_run *run);

#define COMMON(name, list)                                                                         \
    .operation = name, .types = IGH_FLOATS, .cases = list,                                         \
    .case_count = sizeof(list) / sizeof *(list), .size_names = size_names,                         \
    .flag_names = flag_names, .declare = declare, .launch = launch, .reference = reference,        \
    .bound = bound, .cost = cost
#define GRADIENTS .forward = forward_only, .upstream = D_OUT

#define ACTIVATIONS(prefix)                                                                        \
    {COMMON(prefix, plain_cases)},                                                                 \
        {COMMON(prefix "_backward", plain_cases), GRADIENTS, .gradients = {{X, OUT}},              \
         .gradient_count = 1},                                                                     \
        {COMMON(prefix "_mul", mul_cases)},                                                        \
        {COMMON(prefix "_mul_backward", mul_cases), GRADIENTS,                                     \
         .gradients = {{X, OUT}, {UP, OUT_UP}}, .gradient_count = 2}

static const struct igh_suite all[] = {ACTIVATIONS("silu"), ACTIVATIONS("gelu"),
                                       ACTIVATIONS("gelu_tanh")};

static const struct activation activations[] = {
    {silu_value, silu_slope}, {gelu_value, gelu_slope}, {gelu_tanh_value, gelu_tanh_slope}};

static enum kind kind_of(const struct igh_run *run) {
    return (enum kind)((run->suite - all) % 4);
}

static const struct activation *activation_of(const struct igh_run *run) {
    return &activations[(run->suite - all) / 4];
}

static ingot_status launch(struct igh_run *run) {
    static ingot_status (*const forward[])(
        ingot_ops *, ingot_stream *, const ingot_activation_desc *) = {ingot_op_silu, ingot_op_gelu,
                                                                       ingot_op_gelu_tanh};
    static ingot_status (*const backward[])(ingot_ops *, ingot_stream *,
                                            const ingot_activation_backward_desc *) = {
        ingot_op_silu_backward, ingot_op_gelu_backward, ingot_op_gelu_tanh_backward};
    static ingot_status (*const mul[])(ingot_ops *, ingot_stream *,
                                       const ingot_activation_mul_desc *) = {
        ingot_op_silu_mul, ingot_op_gelu_mul, ingot_op_gelu_tanh_mul};
    static ingot_status (*const mul_backward[])(ingot_ops *, ingot_stream *,
                                                const ingot_activation_mul_backward_desc *) = {
        ingot_op_silu_mul_backward, ingot_op_gelu_mul_backward, ingot_op_gelu_tanh_mul_backward};
    struct views v = views_of(run);
    size_t which = (size_t)(activation_of(run) - activations);
    switch (kind_of(run)) {
    case FORWARD:
        return forward[which](run->ops, run->stream, &(ingot_activation_desc){&v.gate, &v.out});
    case BACKWARD:
        return backward[which](run->ops, run->stream,
                               &(ingot_activation_backward_desc){&v.gate, &v.d_out, &v.out});
    case MUL:
        return mul[which](run->ops, run->stream,
                          &(ingot_activation_mul_desc){&v.gate, &v.up, &v.out});
    case MUL_BACKWARD:
        break;
    }
    return mul_backward[which](
        run->ops, run->stream,
        &(ingot_activation_mul_backward_desc){&v.gate, &v.up, &v.d_out, &v.out, &v.out_up});
}

static const struct igh_suite *const suites[] = {&all[0], &all[1], &all[2],  &all[3],
                                                 &all[4], &all[5], &all[6],  &all[7],
                                                 &all[8], &all[9], &all[10], &all[11]};
const struct igh_suites igh_suites_pointwise = {suites, 12};
