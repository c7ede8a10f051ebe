/* Adam, AdamW and the norm of gradients on the host: check every tensor, put those of one pair of
 * types into a table, launch once per table. */
#include <stdio.h>
#include <stdlib.h>

#include "adamw/adamw_table.h"
#include "ops/elementwise.h"

enum { ADAMW, ADAM, GRAD_NORM };
enum { MOST_SIMDS = 16 }; /* of a threadgroup: adam takes no 1024 threads */

enum { KNOB_STAY = IGO_ELEMENTWISE_KNOBS };
static const ingot_ops_knob knobs[] = {
    IGO_ELEMENTWISE_KNOB_LIST,
    [KNOB_STAY] = {.name = "stay",
                   .help =
                       "Mi elements of the parameters from which loads ask the second cache to "
                       "keep what they bring, so that results leave that first; 0: they never do",
                   .fallback = 0,
                   .minimum = 0,
                   .maximum = 65536},
};
enum { KNOB_LAST = IGO_ELEMENTWISE_KNOBS };
static const ingot_ops_knob norm_knobs[] = {
    IGO_ELEMENTWISE_KNOB_LIST,
    [KNOB_LAST] = {.name = "last",
                   .help = "SIMD-groups that add the blocks' sums up",
                   .fallback = 32,
                   .minimum = 1,
                   .maximum = 32,
                   .power_of_two = true},
};

#define OPERATION(op, text, how, knob_list)                                                        \
    {.name = op,                                                                                   \
     .family = "training",                                                                         \
     .summary = text,                                                                              \
     .limits = "dense tensors",                                                                    \
     .variants = how,                                                                              \
     .types = IGO_FLOATS,                                                                          \
     .knobs = knob_list,                                                                           \
     .knob_count = sizeof knob_list / sizeof *knob_list}
static const struct ingot_ops_info operations[] = {
    [ADAMW] = OPERATION("adamw", "a step of AdamW over many tensors at once",
                        "types of parameters and gradients, master copies, amsgrad", knobs),
    [ADAM] = OPERATION("adam", "a step of Adam (weight decay as L2) over many tensors at once",
                       "types of parameters and gradients, master copies, amsgrad", knobs),
    [GRAD_NORM] = OPERATION("grad_norm", "the norm of many tensors, to clip gradients by",
                            "vectors of four where memory is aligned", norm_knobs),
};

const struct igo_library igo_library_adamw = {
    .name = "adamw", .operations = operations, .operation_count = 3};

/* ---- checks of the tensors ---- */

enum { PARAM, GRAD, EXP_AVG, EXP_AVG_SQ, MAX_EXP_AVG_SQ, MASTER, ROLES };
_Static_assert((int)ROLES == (int)ADAM_TENSORS_PER_ENTRY, "an entry keeps one tensor per role");

typedef const char *role_names[ROLES];

static void tensors_of(const ingot_adam_tensors *t, const ingot_tensor *roles[ROLES]) {
    roles[PARAM] = t->param;
    roles[GRAD] = t->grad;
    roles[EXP_AVG] = t->exp_avg;
    roles[EXP_AVG_SQ] = t->exp_avg_sq;
    roles[MAX_EXP_AVG_SQ] = t->max_exp_avg_sq;
    roles[MASTER] = t->master;
}

static bool check_roles(struct igo_call *call, const ingot_adam_desc *desc,
                        const ingot_tensor *const *roles, const role_names names) {
    const uint32_t single = IGO_TYPE(INGOT_SCALAR_F32);
    for (int i = 0; i < ROLES && !call->failed; i++) {
        if (!roles[i] && (i == MASTER || (i == MAX_EXP_AVG_SQ && !desc->amsgrad))) {
            continue;
        }
        uint32_t types = i == PARAM  ? IGO_FLOATS
                         : i == GRAD ? single | IGO_TYPE((unsigned)roles[PARAM]->type)
                                     : single;
        if (!igo_tensor(call, names[i], roles[i], types, 0, INGOT_MAX_RANK) ||
            !igo_dense(call, names[i], roles[i])) {
            return false;
        }
        IGO_REQUIRE(call, igo_count(roles[i]) == igo_count(roles[PARAM]),
                    "%s has %lld elements, but %s has %lld", names[i],
                    (long long)igo_count(roles[i]), names[PARAM],
                    (long long)igo_count(roles[PARAM]));
    }
    IGO_REQUIRE(call, call->failed || !roles[MASTER] || roles[PARAM]->type != INGOT_SCALAR_F32,
                "%s is of no use: %s is float32 itself", names[MASTER], names[PARAM]);
    return !call->failed;
}

/* Names are only spelt out when there is something to say. */
static bool check_entry(struct igo_call *call, const ingot_adam_desc *desc, size_t index) {
    static const role_names plain = {"param",      "grad",           "exp_avg",
                                     "exp_avg_sq", "max_exp_avg_sq", "master"};
    const ingot_tensor *roles[ROLES];
    tensors_of(&desc->tensors[index], roles);
    if (check_roles(call, desc, roles, plain)) {
        return true;
    }
    char text[ROLES][64];
    role_names full;
    for (int i = 0; i < ROLES; i++) {
        snprintf(text[i], sizeof text[i], "tensors[%zu].%s", index, plain[i]);
        full[i] = text[i];
    }
    ig_error_clear(&call->error);
    call->failed = false;
    return check_roles(call, desc, roles, full);
}

/* Bytes that a tensor takes, and whether they are written. */
struct span {
    uint64_t first, end;
    size_t tensor;
    bool written;
};

static int compare_spans(const void *a, const void *b) {
    const struct span *x = a, *y = b;
    return x->first < y->first ? -1 : x->first > y->first;
}

static size_t list_spans(const ingot_adam_desc *desc, struct span *spans) {
    size_t count = 0;
    for (size_t i = 0; i < desc->count; i++) {
        const ingot_tensor *roles[ROLES];
        tensors_of(&desc->tensors[i], roles);
        for (int k = 0; k < ROLES; k++) {
            if (!roles[k] || igo_count(roles[k]) == 0 || (k == MAX_EXP_AVG_SQ && !desc->amsgrad)) {
                continue;
            }
            uint64_t size = roles[k]->type == INGOT_SCALAR_F32 ? 4 : 2;
            uint64_t first = ingot_buffer_address(roles[k]->buffer) + roles[k]->offset;
            spans[count++] = (struct span){.first = first,
                                           .end = first + (uint64_t)igo_count(roles[k]) * size,
                                           .tensor = i,
                                           .written = k != GRAD};
        }
    }
    return count;
}

/* Nothing that is written shares memory with anything else. */
static void check_overlap(struct igo_call *call, const ingot_adam_desc *desc) {
    if (call->failed || !desc->count) {
        return;
    }
    struct span *spans = malloc(desc->count * ROLES * sizeof *spans);
    if (!spans) {
        igo_fail(call, INGOT_OUT_OF_MEMORY, "no memory to check %zu tensors", desc->count);
        return;
    }
    size_t count = list_spans(desc, spans);
    qsort(spans, count, sizeof *spans, compare_spans);
    for (size_t i = 0, reach = 0; i < count; i++) {
        if (i && spans[reach].end > spans[i].first && (spans[reach].written || spans[i].written)) {
            igo_fail(
                call, INGOT_INVALID_ARGUMENT,
                "tensors[%zu] and tensors[%zu] share %llu bytes, or two roles of one tensor do",
                spans[reach].tensor, spans[i].tensor,
                (unsigned long long)((spans[reach].end < spans[i].end ? spans[reach].end
                                                                      : spans[i].end) -
                                     spans[i].first));
        }
        if (spans[i].end > spans[reach].end) {
            reach = i;
        }
    }
    free(spans);
}

/* ---- numbers ---- */

static double or_default(double value, double fallback) {
    return value == 0 ? fallback : value < 0 ? 0 : value;
}

static double whole_power(double base, int64_t exponent) {
    double result = 1;
    for (; exponent; exponent >>= 1, base *= base) {
        if (exponent & 1) {
            result *= base;
        }
    }
    return result;
}

static void check_norm(struct igo_call *call, const char *name, const ingot_tensor *norm) {
    if (igo_tensor(call, name, norm, IGO_TYPE(INGOT_SCALAR_F32), 0, INGOT_MAX_RANK)) {
        IGO_REQUIRE(call, igo_count(norm) == 1, "%s has %lld elements; it must have 1", name,
                    (long long)igo_count(norm));
    }
}

static void check_numbers(struct igo_call *call, const ingot_adam_desc *desc) {
    const double limit = 0x1p100;
    IGO_REQUIRE(call, desc->lr >= -limit && desc->lr <= limit, "lr is %g", desc->lr);
    IGO_REQUIRE(call, desc->beta1 < 1, "beta1 is %g; it must be below 1", desc->beta1);
    IGO_REQUIRE(call, desc->beta2 < 1, "beta2 is %g; it must be below 1", desc->beta2);
    IGO_REQUIRE(call, desc->eps <= limit, "eps is %g", desc->eps);
    IGO_REQUIRE(call, desc->weight_decay >= 0 && desc->weight_decay <= limit,
                "weight_decay is %g; it must not be negative", desc->weight_decay);
    IGO_REQUIRE(call, desc->step >= 1, "step is %lld; the first is 1", (long long)desc->step);
    IGO_REQUIRE(call, desc->tensors || !desc->count, "tensors is NULL, but count is %zu",
                desc->count);
    if (!desc->norm) {
        return;
    }
    check_norm(call, "norm", desc->norm);
    IGO_REQUIRE(call, desc->max_norm > 0 && desc->max_norm <= limit,
                "max_norm is %g; it must be positive when norm is given", desc->max_norm);
}

static struct adam_args numbers_of(const ingot_adam_desc *desc, bool decoupled) {
    double beta1 = or_default(desc->beta1, 0.9), beta2 = or_default(desc->beta2, 0.999);
    return (struct adam_args){
        .grad_scale = desc->maximize ? -1 : 1,
        .max_norm = desc->norm ? (float)desc->max_norm : 0,
        .decay = decoupled ? (float)(1 - desc->lr * desc->weight_decay) : 1,
        .l2 = decoupled ? 0 : (float)desc->weight_decay,
        .beta1_rest = (float)(1 - beta1),
        .beta2 = (float)beta2,
        .beta2_rest = (float)(1 - beta2),
        .bias2 = (float)(1 / (1 - whole_power(beta2, desc->step))),
        .eps = (float)or_default(desc->eps, 1e-8),
        .step_size = (float)(desc->lr / (1 - whole_power(beta1, desc->step))),
    };
}

/* ---- launches ---- */

/* Tensors of the same kind go into one launch: the same types, and a master copy or none. */
struct kind {
    ingot_scalar_type param, grad;
    bool master;
};

static struct kind kind_of(const ingot_adam_tensors *t) {
    return (struct kind){t->param->type, t->grad->type, t->master != NULL};
}

static bool same_kind(struct kind a, struct kind b) {
    return a.param == b.param && a.grad == b.grad && a.master == b.master;
}

static void add_entry(struct adam_table *table, const ingot_adam_tensors *t, bool amsgrad,
                      uint32_t block) {
    struct adam_entry *entry = adam_table_add(table, (uint64_t)igo_count(t->param), block);
    entry->param = adam_table_keep(table, t->param);
    entry->grad = adam_table_keep(table, t->grad);
    entry->exp_avg = adam_table_keep(table, t->exp_avg);
    entry->exp_avg_sq = adam_table_keep(table, t->exp_avg_sq);
    if (amsgrad) {
        entry->max_exp_avg_sq = adam_table_keep(table, t->max_exp_avg_sq);
    }
    if (t->master) {
        entry->master = adam_table_keep(table, t->master);
    }
}

static void launch_kind(struct igo_call *call, const ingot_adam_desc *desc, struct kind kind,
                        struct adam_args *args) {
    struct adam_table table;
    size_t count = 0;
    uint64_t elements = 0;
    for (size_t i = 0; i < desc->count; i++) {
        if (igo_count(desc->tensors[i].param) && same_kind(kind_of(&desc->tensors[i]), kind)) {
            count++;
            elements += (uint64_t)igo_count(desc->tensors[i].param);
        }
    }
    struct igo_class class_text = {0};
    igo_class_size(&class_text, "n", elements, 1u << 26);
    if (!igo_policy(call, kind.param, &class_text)) {
        return;
    }
    args->block = igo_knob(call, IGO_ELEMENTWISE_BLOCK);
    adam_table_open(call, &table, count);
    for (size_t i = 0; i < desc->count && !call->failed; i++) {
        if (igo_count(desc->tensors[i].param) && same_kind(kind_of(&desc->tensors[i]), kind)) {
            add_entry(&table, &desc->tensors[i], desc->amsgrad, args->block);
        }
    }
    adam_table_close(call, &table);
    args->entries = table.count;
    args->blocks = table.blocks;

    struct igo_launch launch = {0};
    const bool wide = igo_knob(call, IGO_ELEMENTWISE_WIDE) && table.aligned;
    const uint64_t least = (uint64_t)igo_knob(call, KNOB_STAY) << 20;
    igo_launch_kernel(&launch, "adam_%s_%s", igo_type_name(kind.param), igo_type_name(kind.grad));
    igo_launch_constant_bool(&launch, "line_wide", wide);
    igo_launch_constant_bool(&launch, "adam_stays", wide && least && elements >= least);
    igo_launch_constant_bool(&launch, "adam_master", kind.master);
    igo_launch_constant_bool(&launch, "adam_amsgrad", desc->amsgrad);
    igo_launch_buffer(&launch, table.buffer, 0);
    if (desc->norm) {
        igo_launch_tensor(&launch, desc->norm, NULL);
    } else {
        igo_launch_buffer(&launch, table.buffer, 0);
    }
    igo_launch_bytes(&launch, args, sizeof *args);
    const uint32_t simds = igo_knob(call, IGO_ELEMENTWISE_SIMD);
    igo_launch_simdgroups(&launch, args->blocks, simds < MOST_SIMDS ? simds : MOST_SIMDS);
    igo_dispatch(call, &launch);
    ingot_buffer_release(table.buffer);
}

static ingot_status adam(ingot_ops *ops, ingot_stream *stream, int operation,
                         const ingot_adam_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_adamw, &operations[operation], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    check_numbers(&call, desc);
    for (size_t i = 0; i < desc->count && !call.failed; i++) {
        check_entry(&call, desc, i);
    }
    check_overlap(&call, desc);
    if (call.failed) {
        return igo_end(&call);
    }
    struct adam_args args = numbers_of(desc, operation == ADAMW);
    struct kind done[10]; /* there are no more kinds than that */
    size_t done_count = 0;
    for (size_t i = 0; i < desc->count && !call.failed; i++) {
        struct kind kind = kind_of(&desc->tensors[i]);
        bool is_new = igo_count(desc->tensors[i].param) > 0;
        for (size_t k = 0; k < done_count && is_new; k++) {
            is_new = !same_kind(kind, done[k]);
        }
        if (is_new) {
            done[done_count++] = kind;
            launch_kind(&call, desc, kind, &args);
        }
    }
    return igo_end(&call);
}

ingot_status ingot_op_adamw(ingot_ops *ops, ingot_stream *stream, const ingot_adam_desc *desc) {
    return adam(ops, stream, ADAMW, desc);
}

ingot_status ingot_op_adam(ingot_ops *ops, ingot_stream *stream, const ingot_adam_desc *desc) {
    return adam(ops, stream, ADAM, desc);
}

/* ---- the norm ---- */

static bool check_grads(struct igo_call *call, const ingot_grad_norm_desc *desc, uint64_t *total) {
    check_norm(call, "norm", desc->norm);
    IGO_REQUIRE(call, desc->grads || !desc->count, "grads is NULL, but count is %zu", desc->count);
    *total = 0;
    for (size_t i = 0; i < desc->count && !call->failed; i++) {
        const ingot_tensor *grad = desc->grads[i];
        char name[32];
        snprintf(name, sizeof name, "grads[%zu]", i);
        if (!igo_tensor(call, name, grad, IGO_FLOATS, 0, INGOT_MAX_RANK)) {
            break;
        }
        igo_dense(call, name, grad);
        igo_no_overlap(call, "norm", desc->norm, name, grad, false);
        *total += (uint64_t)igo_count(grad);
    }
    return !call->failed;
}

static void sum_blocks(struct igo_call *call, const ingot_grad_norm_desc *desc,
                       struct adam_args *args, ingot_buffer **sums) {
    struct adam_table table;
    adam_table_open(call, &table, desc->count);
    for (size_t i = 0; i < desc->count && !call->failed; i++) {
        const ingot_tensor *grad = desc->grads[i];
        if (igo_count(grad) == 0) {
            continue;
        }
        struct adam_entry *entry = adam_table_add(&table, (uint64_t)igo_count(grad), args->block);
        entry->grad = adam_table_keep(&table, grad);
        entry->grad_type = grad->type == INGOT_SCALAR_F32   ? 0
                           : grad->type == INGOT_SCALAR_F16 ? 1
                                                            : 2;
    }
    adam_table_close(call, &table);
    args->entries = table.count;
    args->blocks = table.blocks;
    *sums = igo_scratch(call, table.blocks * sizeof(float));
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "grad_norm_blocks");
    igo_launch_constant_bool(&launch, "line_wide",
                             igo_knob(call, IGO_ELEMENTWISE_WIDE) && table.aligned);
    igo_launch_buffer(&launch, table.buffer, 0);
    igo_launch_buffer(&launch, *sums, 0);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_launch_simdgroups(&launch, args->blocks, igo_knob(call, IGO_ELEMENTWISE_SIMD));
    igo_dispatch(call, &launch);
    ingot_buffer_release(table.buffer);
}

ingot_status ingot_op_grad_norm(ingot_ops *ops, ingot_stream *stream,
                                const ingot_grad_norm_desc *desc) {
    struct igo_call call;
    uint64_t total;
    igo_begin(&call, ops, stream, &igo_library_adamw, &operations[GRAD_NORM], desc);
    if (call.failed || !check_grads(&call, desc, &total)) {
        return igo_end(&call);
    }
    struct igo_class class_text = {0};
    igo_class_size(&class_text, "n", total, 1u << 26);
    if (!igo_policy(&call, desc->count ? desc->grads[0]->type : INGOT_SCALAR_F32, &class_text)) {
        return igo_end(&call);
    }
    struct adam_args args = {.block = igo_knob(&call, IGO_ELEMENTWISE_BLOCK)};
    ingot_buffer *sums = NULL;
    if (total) {
        sum_blocks(&call, desc, &args, &sums);
    }

    struct igo_launch launch = {0};
    const uint32_t last = igo_knob(&call, KNOB_LAST);
    igo_launch_kernel(&launch, "grad_norm_end");
    igo_launch_constant_u32(&launch, "norm_simds", last);
    if (sums) {
        igo_launch_buffer(&launch, sums, 0);
    } else {
        igo_launch_tensor(&launch, desc->norm, NULL);
    }
    igo_launch_tensor(&launch, desc->norm, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_simdgroups(&launch, last, last);
    igo_dispatch(&call, &launch);
    igo_scratch_release(&call, sums);
    return igo_end(&call);
}
