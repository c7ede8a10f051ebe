/*
 * The cases of adamw, adam and grad_norm. Each role's tensors lie one behind the other in one slot,
 * with gaps that must stay as they are. n = tensors, elements of each (0: a list of odd sizes),
 * step; f = lr, weight_decay, max_norm (0: no clipping), beta1.
 */
#include <math.h>
#include <stdlib.h>

#include "harness/harness.h"

enum { TENSORS, SIZE, STEP };
enum { LR, WEIGHT_DECAY, MAX_NORM, BETA1 };
enum {
    GRAD_F32 = 1,  /* gradients in float32 */
    GRAD_BOTH = 2, /* those of every other tensor */
    HAS_MASTER = 4,
    AMSGRAD = 8,
    MAXIMIZE = 16,
    GRAD_SMALL = 32, /* exp_avg_sq starts at 0 and gradients are small: eps matters */
};
enum { PARAM, GRAD, GRAD_SINGLE, EXP_AVG, EXP_AVG_SQ, LARGEST, MASTER, NORM };
#define HALVES (IGH_TYPE(INGOT_SCALAR_F16) | IGH_TYPE(INGOT_SCALAR_BF16))

static const int64_t odd_sizes[] = {1, 127, 0, 4097, 33, 128, 10000, 3};
enum { ODD_SIZES = sizeof odd_sizes / sizeof *odd_sizes, MAX_TENSORS = 256 };

static const struct igh_case adam_cases[] = {
    {.name = "none", .n = {0, 0, 1}, .f = {1e-3}},
    {.name = "an empty one", .n = {1, -1, 1}, .f = {1e-3}},
    {.name = "1 of 1", .n = {1, 1, 1}, .f = {1e-3}},
    {.name = "odd sizes",
     .n = {ODD_SIZES, 0, 3},
     .f = {1e-2, 0.1},
     .uses = IGH_CHECK | IGH_SPECIALS},
    {.name = "odd sizes, step 100000", .n = {ODD_SIZES, 0, 100000}, .f = {1e-3, 0.01, 0, -1}},
    {.name = "odd sizes, maximize", .n = {ODD_SIZES, 0, 2}, .f = {1e-2}, .flags = MAXIMIZE},
    {.name = "odd sizes, amsgrad", .n = {ODD_SIZES, 0, 9}, .f = {1e-2, 0.1}, .flags = AMSGRAD},
    {.name = "odd sizes, clipped", .n = {ODD_SIZES, 0, 9}, .f = {1e-2, 0.1, 1.5}},
    {.name = "odd sizes, not clipped", .n = {ODD_SIZES, 0, 9}, .f = {1e-2, 0.1, 1e6}},
    {.name = "odd sizes, small gradients",
     .n = {ODD_SIZES, 0, 1},
     .f = {1e-2},
     .flags = GRAD_SMALL},
    {.name = "odd sizes, float32 gradients",
     .n = {ODD_SIZES, 0, 4},
     .f = {1e-2, 0.1},
     .flags = GRAD_F32,
     .types = HALVES},
    {.name = "odd sizes, both gradients",
     .n = {ODD_SIZES, 0, 4},
     .f = {1e-2, 0.1, 2},
     .flags = GRAD_BOTH,
     .types = HALVES},
    {.name = "odd sizes, master",
     .n = {ODD_SIZES, 0, 4},
     .f = {1e-2, 0.1},
     .flags = HAS_MASTER,
     .types = HALVES},
    {.name = "odd sizes, master, float32 gradients, amsgrad",
     .n = {ODD_SIZES, 0, 4},
     .f = {1e-2, 0.1},
     .flags = HAS_MASTER | GRAD_F32 | AMSGRAD,
     .types = HALVES},
    {.name = "100 of 1000", .n = {100, 1000, 10}, .f = {1e-3, 0.01}, .uses = IGH_CHECK | IGH_BENCH},
    {.name = "64 of 256Ki",
     .n = {64, 1 << 18, 10},
     .f = {1e-3, 0.01},
     .uses = IGH_BENCH | IGH_TUNE},
    {.name = "64 of 256Ki, master",
     .n = {64, 1 << 18, 10},
     .f = {1e-3, 0.01},
     .flags = HAS_MASTER,
     .uses = IGH_BENCH,
     .types = IGH_TYPE(INGOT_SCALAR_BF16)},
    {.name = "large 1 of 64Mi",
     .n = {1, 1 << 26, 10},
     .f = {1e-3, 0.01},
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
    {.name = "large 100 of 1Mi",
     .n = {100, 1 << 20, 10},
     .f = {1e-3, 0.01},
     .uses = IGH_LARGE,
     .types = IGH_F32_BF16},
    {.name = "large 100 of 1Mi, master",
     .n = {100, 1 << 20, 10},
     .f = {1e-3, 0.01},
     .flags = HAS_MASTER,
     .uses = IGH_LARGE,
     .types = IGH_TYPE(INGOT_SCALAR_BF16)},
};

static const struct igh_case norm_cases[] = {
    {.name = "none", .n = {0, 0}},
    {.name = "an empty one", .n = {1, -1}},
    {.name = "1 of 1", .n = {1, 1}},
    {.name = "odd sizes", .n = {ODD_SIZES, 0}},
    {.name = "odd sizes, both types", .n = {ODD_SIZES, 0}, .flags = GRAD_BOTH, .types = HALVES},
    {.name = "100 of 1000", .n = {100, 1000}, .uses = IGH_CHECK | IGH_BENCH},
    {.name = "16 of 64Ki", .n = {16, 1 << 16}},
    {.name = "64 of 256Ki", .n = {64, 1 << 18}, .uses = IGH_BENCH | IGH_TUNE},
    {.name = "large 1 of 64Mi", .n = {1, 1 << 26}, .uses = IGH_LARGE, .types = IGH_F32_BF16},
};

static const char *const size_names[] = {"tensors", "size", "step", NULL};
static const char *const number_names[] = {"lr", "weight_decay", "max_norm", "beta1", NULL};
static const char *const flag_names[] = {"grad_f32", "grad_both",  "master", "amsgrad",
                                         "maximize", "grad_small", NULL};

static bool has(const struct igh_run *run, uint32_t flag) {
    return run->test->flags & flag;
}

static int64_t size_of(const struct igh_run *run, int64_t index) {
    int64_t size = run->test->n[SIZE];
    return size > 0 ? size : size < 0 ? 0 : odd_sizes[index];
}

/* Where a tensor begins in its slot. */
static int64_t start_of(const struct igh_run *run, int64_t index) {
    int64_t at = 0;
    if (run->test->n[SIZE]) {
        return index * size_of(run, 0);
    }
    for (int64_t i = 0; i < index; i++) {
        at += odd_sizes[i] + i % 4;
    }
    return at;
}

static bool single_gradient(const struct igh_run *run, int64_t index) {
    return has(run, GRAD_F32) || (has(run, GRAD_BOTH) && index % 2);
}

/* ---- tensors ---- */

static void slot(struct igh_run *run, int index, const char *name, bool changed, bool single,
                 struct igh_fill fill) {
    int64_t count = run->test->n[TENSORS], total = count ? start_of(run, count) + 5 : 0;
    (changed ? igh_inout : igh_input)(run, index, name, single ? INGOT_SCALAR_F32 : run->type, 1,
                                      &total, fill);
}

static void declare_grads(struct igh_run *run) {
    const struct igh_fill fill = {IGH_NORMAL, 0, has(run, GRAD_SMALL) ? 1e-6 : 0.3};
    if (!has(run, GRAD_F32)) {
        slot(run, GRAD, "grad", false, false, fill);
    }
    if (has(run, GRAD_F32 | GRAD_BOTH)) {
        slot(run, GRAD_SINGLE, "grad float32", false, true, fill);
    }
}

static void declare(struct igh_run *run) {
    const struct igh_fill normal = {IGH_NORMAL, 0, 1};
    slot(run, PARAM, "param", true, false, normal);
    igh_no_specials(run, PARAM);
    declare_grads(run);
    slot(run, EXP_AVG, "exp_avg", true, true,
         has(run, GRAD_SMALL) ? (struct igh_fill){IGH_CONSTANT, 0, 0}
                              : (struct igh_fill){IGH_NORMAL, 0, 0.1});
    igh_no_specials(run, EXP_AVG);
    slot(run, EXP_AVG_SQ, "exp_avg_sq", true, true,
         has(run, GRAD_SMALL) ? (struct igh_fill){IGH_CONSTANT, 0, 0}
                              : (struct igh_fill){IGH_UNIFORM, 0.001, 0.5});
    igh_no_specials(run, EXP_AVG_SQ);
    if (has(run, AMSGRAD)) {
        slot(run, LARGEST, "max_exp_avg_sq", true, true,
             (struct igh_fill){IGH_UNIFORM, 0.001, 0.5});
    }
    if (has(run, HAS_MASTER)) {
        slot(run, MASTER, "master", true, true, normal);
    }
    if (run->test->f[MAX_NORM] > 0) {
        igh_output(run, NORM, "norm", INGOT_SCALAR_F32, 0, NULL);
    }
}

static void declare_norm(struct igh_run *run) {
    declare_grads(run);
    igh_output(run, NORM, "norm", INGOT_SCALAR_F32, 0, NULL);
}

/* ---- calls ---- */

static ingot_tensor view(const struct igh_run *run, int index, int64_t tensor) {
    const ingot_tensor *all = igh_tensor(run, index);
    if (!all) {
        return (ingot_tensor){0};
    }
    int64_t size = size_of(run, tensor);
    uint64_t bytes = all->type == INGOT_SCALAR_F32 ? 4 : 2;
    return ingot_tensor_contiguous(all->buffer, (uint64_t)start_of(run, tensor) * bytes, all->type,
                                   1, &size);
}

static ingot_tensor grad_view(const struct igh_run *run, int64_t tensor) {
    return view(run, single_gradient(run, tensor) ? GRAD_SINGLE : GRAD, tensor);
}

static ingot_status launch_norm(struct igh_run *run) {
    ingot_tensor grads[MAX_TENSORS];
    const ingot_tensor *pointers[MAX_TENSORS];
    size_t count = (size_t)run->test->n[TENSORS];
    for (size_t i = 0; i < count; i++) {
        grads[i] = grad_view(run, (int64_t)i);
        pointers[i] = &grads[i];
    }
    const ingot_grad_norm_desc desc = {
        .grads = pointers, .count = count, .norm = igh_tensor(run, NORM)};
    return ingot_op_grad_norm(run->ops, run->stream, &desc);
}

struct views {
    ingot_tensor param, grad, exp_avg, exp_avg_sq, largest, master;
};

static bool is_decoupled(const struct igh_run *run);

static ingot_status launch(struct igh_run *run) {
    struct views views[MAX_TENSORS];
    ingot_adam_tensors tensors[MAX_TENSORS];
    size_t count = (size_t)run->test->n[TENSORS];
    for (size_t i = 0; i < count; i++) {
        struct views *v = &views[i];
        int64_t k = (int64_t)i;
        *v = (struct views){view(run, PARAM, k),      grad_view(run, k),     view(run, EXP_AVG, k),
                            view(run, EXP_AVG_SQ, k), view(run, LARGEST, k), view(run, MASTER, k)};
        tensors[i] = (ingot_adam_tensors){&v->param,
                                          &v->grad,
                                          &v->exp_avg,
                                          &v->exp_avg_sq,
                                          has(run, AMSGRAD) ? &v->largest : NULL,
                                          has(run, HAS_MASTER) ? &v->master : NULL};
    }
    const double *f = run->test->f;
    const ingot_adam_desc desc = {.tensors = tensors,
                                  .count = count,
                                  .lr = f[LR],
                                  .beta1 = f[BETA1],
                                  .weight_decay = f[WEIGHT_DECAY],
                                  .step = run->test->n[STEP],
                                  .maximize = has(run, MAXIMIZE),
                                  .amsgrad = has(run, AMSGRAD),
                                  .norm = igh_tensor(run, NORM),
                                  .max_norm = f[MAX_NORM]};
    ingot_status status = desc.norm ? launch_norm(run) : INGOT_OK;
    if (status) {
        return status;
    }
    return (is_decoupled(run) ? ingot_op_adamw : ingot_op_adam)(run->ops, run->stream, &desc);
}

/* ---- reference ---- */

static const double *grads_of(const struct igh_run *run, int64_t tensor) {
    return igh_values(run, single_gradient(run, tensor) ? GRAD_SINGLE : GRAD) +
           start_of(run, tensor);
}

static void reference_norm(struct igh_run *run) {
    double sum = 0;
    for (int64_t t = 0; t < run->test->n[TENSORS]; t++) {
        for (int64_t i = 0; i < size_of(run, t); i++) {
            sum += grads_of(run, t)[i] * grads_of(run, t)[i];
        }
    }
    *igh_expected(run, NORM) = sqrt(sum);
}

static void step_element(const struct igh_run *run, int64_t at, double grad) {
    const double *f = run->test->f, step = (double)run->test->n[STEP];
    double beta1 = f[BETA1] < 0 ? 0 : f[BETA1] > 0 ? f[BETA1] : 0.9, beta2 = 0.999;
    int slot = has(run, HAS_MASTER) ? MASTER : PARAM;
    double param = igh_values(run, slot)[at];
    if (is_decoupled(run)) {
        param *= 1 - f[LR] * f[WEIGHT_DECAY];
    } else {
        grad += f[WEIGHT_DECAY] * param;
    }
    double first = beta1 * igh_values(run, EXP_AVG)[at] + (1 - beta1) * grad;
    double second = beta2 * igh_values(run, EXP_AVG_SQ)[at] + (1 - beta2) * grad * grad;
    igh_expected(run, EXP_AVG)[at] = first;
    igh_expected(run, EXP_AVG_SQ)[at] = second;
    if (has(run, AMSGRAD)) {
        igh_expected(run, LARGEST)[at] = second = fmax(second, igh_values(run, LARGEST)[at]);
    }
    double denominator = sqrt(second / (1 - pow(beta2, step))) + 1e-8;
    param -= f[LR] / (1 - pow(beta1, step)) * first / denominator;
    igh_expected(run, PARAM)[at] = param;
    if (has(run, HAS_MASTER)) {
        igh_expected(run, MASTER)[at] = param;
    }
}

static void reference(struct igh_run *run) {
    static const int written[] = {PARAM, EXP_AVG, EXP_AVG_SQ, LARGEST, MASTER};
    for (size_t k = 0; k < sizeof written / sizeof *written; k++) {
        for (int64_t i = 0; igh_tensor(run, written[k]) && i < igh_count(run, written[k]); i++) {
            igh_expected(run, written[k])[i] = igh_values(run, written[k])[i];
        }
    }
    double scale = has(run, MAXIMIZE) ? -1 : 1;
    if (igh_tensor(run, NORM)) {
        reference_norm(run);
        scale *= fmin(1, run->test->f[MAX_NORM] / (*igh_expected(run, NORM) + 1e-6));
    }
    for (int64_t t = 0; t < run->test->n[TENSORS]; t++) {
        for (int64_t i = 0; i < size_of(run, t); i++) {
            step_element(run, start_of(run, t) + i, grads_of(run, t)[i] * scale);
        }
    }
}

/* float32: roundings of terms that may cancel (gradients and moments are below 1.2); a step is at
 * most about lr * 10. Halves: the rounding of that. */
static struct igh_bound bound(const struct igh_run *run, int slot) {
    if (slot == NORM) {
        return (struct igh_bound){.ulps = 12};
    }
    if (slot == EXP_AVG) {
        return (struct igh_bound){.ulps = 2, .absolute = 1e-7};
    }
    if (slot == EXP_AVG_SQ || slot == LARGEST) {
        return (struct igh_bound){.ulps = 4, .absolute = 1e-37};
    }
    bool is_half = slot == PARAM && run->type != INGOT_SCALAR_F32;
    return (struct igh_bound){.ulps = is_half ? 0.51 : 2, .absolute = 2e-5 * run->test->f[LR]};
}

/* ---- suites ---- */

static double elements_of(const struct igh_run *run) {
    return (double)start_of(run, run->test->n[TENSORS]);
}

static double grad_bytes(const struct igh_run *run) {
    return run->type == INGOT_SCALAR_F32 || has(run, GRAD_F32) ? 4 : 2;
}

static void cost(const struct igh_run *run, double *bytes, double *flops) {
    double param = run->type == INGOT_SCALAR_F32 ? 8 : has(run, HAS_MASTER) ? 2 + 8 : 4;
    *bytes = elements_of(run) * (param + grad_bytes(run) + 16 + (has(run, AMSGRAD) ? 8 : 0));
    *flops = elements_of(run) * 14;
}

static void cost_norm(const struct igh_run *run, double *bytes, double *flops) {
    *bytes = elements_of(run) * grad_bytes(run);
    *flops = elements_of(run) * 2;
}

#define COMMON(name, list)                                                                         \
    .operation = name, .types = IGH_FLOATS, .cases = list,                                         \
    .case_count = sizeof(list) / sizeof *(list), .size_names = size_names,                         \
    .number_names = number_names, .flag_names = flag_names, .bound = bound

static const struct igh_suite adamw = {COMMON("adamw", adam_cases), .declare = declare,
                                       .launch = launch, .reference = reference, .cost = cost};
static const struct igh_suite adam = {COMMON("adam", adam_cases), .declare = declare,
                                      .launch = launch, .reference = reference, .cost = cost};
static const struct igh_suite grad_norm = {COMMON("grad_norm", norm_cases), .declare = declare_norm,
                                           .launch = launch_norm, .reference = reference_norm,
                                           .cost = cost_norm};

static bool is_decoupled(const struct igh_run *run) {
    return run->suite == &adamw;
}

static const struct igh_suite *const suites[] = {&adamw, &adam, &grad_norm};
const struct igh_suites igh_suites_adamw = {suites, 3};
