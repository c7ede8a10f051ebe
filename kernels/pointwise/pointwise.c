/*
 * Activations on the host. Every operation of the folder is the same call with other tensors: check
 * them, find the rows, launch a block of a row per SIMD-group. Dense tensors are one long row.
 */
#include "ops/elementwise.h"
#include "pointwise/pointwise_args.h"

enum operation {
    SILU,
    GELU,
    GELU_TANH,
    SILU_BACKWARD,
    GELU_BACKWARD,
    GELU_TANH_BACKWARD,
    SILU_MUL,
    GELU_MUL,
    GELU_TANH_MUL,
    SILU_MUL_BACKWARD,
    GELU_MUL_BACKWARD,
    GELU_TANH_MUL_BACKWARD,
    OPERATION_COUNT
};

static const ingot_ops_knob knobs[] = {IGO_ELEMENTWISE_KNOB_LIST};
enum { MOST_SIMDS = 16 }; /* of a threadgroup: the kernels take no 1024 threads */

#define OPERATION(index, op, text)                                                                 \
    [index] = {.name = op,                                                                         \
               .family = "pointwise",                                                              \
               .summary = text,                                                                    \
               .limits = "contiguous rows, one row stride per tensor",                             \
               .variants = "type; vectors of four where memory is aligned",                        \
               .types = IGO_FLOATS,                                                                \
               .knobs = knobs,                                                                     \
               .knob_count = IGO_ELEMENTWISE_KNOBS}

static const struct ingot_ops_info operations[OPERATION_COUNT] = {
    OPERATION(SILU, "silu", "x / (1 + exp(-x))"),
    OPERATION(GELU, "gelu", "x/2 * (1 + erf(x / sqrt(2)))"),
    OPERATION(GELU_TANH, "gelu_tanh", "gelu by its tanh formula"),
    OPERATION(SILU_BACKWARD, "silu_backward", "gradient of silu"),
    OPERATION(GELU_BACKWARD, "gelu_backward", "gradient of gelu"),
    OPERATION(GELU_TANH_BACKWARD, "gelu_tanh_backward", "gradient of gelu_tanh"),
    OPERATION(SILU_MUL, "silu_mul", "silu(gate) * up (SwiGLU)"),
    OPERATION(GELU_MUL, "gelu_mul", "gelu(gate) * up"),
    OPERATION(GELU_TANH_MUL, "gelu_tanh_mul", "gelu_tanh(gate) * up"),
    OPERATION(SILU_MUL_BACKWARD, "silu_mul_backward", "gradients of silu_mul"),
    OPERATION(GELU_MUL_BACKWARD, "gelu_mul_backward", "gradients of gelu_mul"),
    OPERATION(GELU_TANH_MUL_BACKWARD, "gelu_tanh_mul_backward", "gradients of gelu_tanh_mul"),
};

const struct igo_library igo_library_pointwise = {
    .name = "pointwise", .operations = operations, .operation_count = OPERATION_COUNT};

/* The tensors of a call, inputs first, in the kernel's buffer order. */
struct part {
    const char *name;
    const ingot_tensor *tensor;
};

/* Rows of the two lie between each other without touching: halves of one tensor. */
static bool rows_interleave(const ingot_tensor *a, const ingot_tensor *b) {
    int64_t stride, other;
    if (a->buffer != b->buffer || !igo_row_stride(a, &stride) || !igo_row_stride(b, &other) ||
        stride != other || a->type != b->type || !a->rank) {
        return false;
    }
    uint64_t size = a->type == INGOT_SCALAR_F32 ? 4 : 2, row = (uint64_t)a->shape[a->rank - 1];
    uint64_t apart = (a->offset > b->offset ? a->offset - b->offset : b->offset - a->offset) / size;
    uint64_t within = stride ? apart % (uint64_t)stride : 0;
    return within >= row && within + row <= (uint64_t)stride;
}

static void check_overlap(struct igo_call *call, const struct part *out, const struct part *other,
                          bool in_place) {
    if (!call->failed && !rows_interleave(out->tensor, other->tensor)) {
        igo_no_overlap(call, out->name, out->tensor, other->name, other->tensor, in_place);
    }
}

static bool check(struct igo_call *call, const struct part *parts, size_t count, size_t inputs) {
    for (size_t i = 0; i < count; i++) {
        igo_tensor(call, parts[i].name, parts[i].tensor, IGO_FLOATS, 0, INGOT_MAX_RANK);
    }
    for (size_t i = 0; i < count && !call->failed; i++) {
        const ingot_tensor *t = parts[i].tensor;
        int64_t stride;
        if (i) {
            igo_same_type(call, parts[i].name, t, parts[0].name, parts[0].tensor);
            igo_same_shape(call, parts[i].name, t, parts[0].name, parts[0].tensor);
        }
        igo_dense_tail(call, parts[i].name, t, 1);
        char shape[160];
        IGO_REQUIRE(call, igo_row_stride(t, &stride),
                    "%s of shape %s has rows that no single stride walks", parts[i].name,
                    igo_shape_text(t, shape));
    }
    for (size_t out = inputs; out < count && !call->failed; out++) {
        igo_no_self_overlap(call, parts[out].name, parts[out].tensor);
        for (size_t i = 0; i < out; i++) {
            check_overlap(call, &parts[out], &parts[i], i < inputs);
        }
    }
    return !call->failed;
}

/* So many bytes side by side are aligned everywhere. */
static bool all_aligned(const struct part *parts, size_t count, uint64_t rows, uint32_t bytes) {
    for (size_t i = 0; i < count; i++) {
        const ingot_tensor *t = parts[i].tensor;
        uint64_t address = ingot_buffer_address(t->buffer) + t->offset;
        if (rows > 1 ? !igo_aligned(t, bytes) : address % bytes != 0) {
            return false;
        }
    }
    return true;
}

static void find_rows(struct pointwise_args *args, const struct part *parts, size_t count) {
    const ingot_tensor *x = parts[0].tensor;
    bool dense = true;
    for (size_t i = 0; i < count; i++) {
        dense = dense && igo_is_dense(parts[i].tensor);
    }
    args->rows = dense ? 1 : (uint64_t)igo_rows(x);
    args->row = (uint64_t)igo_count(x) / args->rows;
    for (size_t i = 0; i < count; i++) {
        int64_t stride = 0;
        igo_row_stride(parts[i].tensor, &stride);
        args->strides[i] = (uint64_t)stride;
    }
}

/* As many steps as a block has, up to four: line_steps of pointwise.metal. */
static uint32_t steps_at_once(const struct pointwise_args *args, bool wide, uint32_t element) {
    const uint32_t steps = args->block / (element == 2 ? 256 : 128);
    return !wide || steps < 2 ? 1 : steps < 4 ? 2 : 4;
}

static ingot_status run(struct igo_call *call, const struct part *parts, size_t count,
                        size_t inputs) {
    if (!check(call, parts, count, inputs) || igo_count(parts[0].tensor) == 0) {
        return igo_end(call);
    }
    struct pointwise_args args = {0};
    find_rows(&args, parts, count);
    ingot_scalar_type type = parts[0].tensor->type;
    struct igo_class class_text = {0};
    igo_class_size(&class_text, "n", args.rows * args.row, 1u << 24);
    if (!igo_policy(call, type, &class_text)) {
        return igo_end(call);
    }
    args.block = igo_knob(call, IGO_ELEMENTWISE_BLOCK);
    args.blocks = (args.row + args.block - 1) / args.block;
    args.past_caches = igo_stores_past_caches(call, parts[count - 1].tensor);
    const uint32_t element = (uint32_t)ig_scalar_size(type);
    args.eights = element == 2 && all_aligned(parts, count, args.rows, 16);

    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "%s_%s", call->operation->name, igo_type_name(type));
    const bool wide =
        igo_knob(call, IGO_ELEMENTWISE_WIDE) && all_aligned(parts, count, args.rows, 4 * element);
    igo_launch_constant_bool(&launch, "line_wide", wide);
    igo_launch_constant_bool(&launch, "line_dense", wide && args.rows == 1);
    if (count == 2) {
        igo_launch_constant_u32(&launch, "line_steps", steps_at_once(&args, wide, element));
    }
    for (size_t i = 0; i < count; i++) {
        igo_launch_tensor(&launch, parts[i].tensor, NULL);
    }
    igo_launch_bytes(&launch, &args, sizeof args);
    uint32_t simds = igo_knob(call, IGO_ELEMENTWISE_SIMD);
    igo_launch_simdgroups(&launch, args.rows * args.blocks,
                          simds < MOST_SIMDS ? simds : MOST_SIMDS);
    igo_dispatch(call, &launch);
    return igo_end(call);
}

static ingot_status forward(ingot_ops *ops, ingot_stream *stream, enum operation index,
                            const ingot_activation_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_pointwise, &operations[index], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    const struct part parts[] = {{"x", desc->x}, {"out", desc->out}};
    return run(&call, parts, 2, 1);
}

static ingot_status backward(ingot_ops *ops, ingot_stream *stream, enum operation index,
                             const ingot_activation_backward_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_pointwise, &operations[index], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    const struct part parts[] = {{"x", desc->x}, {"d_out", desc->d_out}, {"d_x", desc->d_x}};
    return run(&call, parts, 3, 2);
}

static ingot_status mul(ingot_ops *ops, ingot_stream *stream, enum operation index,
                        const ingot_activation_mul_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_pointwise, &operations[index], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    const struct part parts[] = {{"gate", desc->gate}, {"up", desc->up}, {"out", desc->out}};
    return run(&call, parts, 3, 2);
}

static ingot_status mul_backward(ingot_ops *ops, ingot_stream *stream, enum operation index,
                                 const ingot_activation_mul_backward_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_pointwise, &operations[index], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    const struct part parts[] = {{"gate", desc->gate},
                                 {"up", desc->up},
                                 {"d_out", desc->d_out},
                                 {"d_gate", desc->d_gate},
                                 {"d_up", desc->d_up}};
    return run(&call, parts, 5, 3);
}

#define ENTRY(name, index, kind, desc_type)                                                        \
    ingot_status ingot_op_##name(ingot_ops *ops, ingot_stream *stream, const desc_type *desc) {    \
        return kind(ops, stream, index, desc);                                                     \
    }
#define ENTRIES(name, index)                                                                       \
    ENTRY(name, index, forward, ingot_activation_desc)                                             \
    ENTRY(name##_backward, index##_BACKWARD, backward, ingot_activation_backward_desc)             \
    ENTRY(name##_mul, index##_MUL, mul, ingot_activation_mul_desc)                                 \
    ENTRY(name##_mul_backward, index##_MUL_BACKWARD, mul_backward,                                 \
          ingot_activation_mul_backward_desc)
ENTRIES(silu, SILU)
ENTRIES(gelu, GELU)
ENTRIES(gelu_tanh, GELU_TANH)
