/* The gradients of attention on the host: the row sums first, then all gradients by one launch, or
 * dq, and dk and dv. */
#include "attention/attention_problem.h"
#include "attention_backward/attention_backward_sizes.h"

enum { KNOB_STEP, KNOB_TILES, KNOB_BLOCKS };
enum {
    TILE = 8,
    OTHERS = 32
}; /* of the simdgroup_matrix kernels: own rows, and other rows at once */
static const ingot_ops_knob knobs[] = {
    {.name = "step",
     .help = "rows that a lane takes at once",
     .fallback = 8,
     .minimum = 2,
     .maximum = 8,
     .power_of_two = true},
    {.name = "tiles",
     .help = "SIMD-groups to a threadgroup of the simdgroup_matrix kernels; 0: a row to a lane",
     .fallback = 4,
     .minimum = 0,
     .maximum = 16},
    {.name = "blocks",
     .help =
         "1: rows of both sides by way of threadgroup memory, where sizes and alignment allow it",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1},
};

static const struct ingot_ops_info operations[] = {
    {.name = "attention_backward",
     .family = "attention",
     .summary = "the gradients of attention by q, k and v, summed in a fixed order",
     .limits = "head sizes up to 256; dense last dimensions",
     .variants = "type; blocks (head size up to 32, 64, 96, 128, 192, 256), simdgroup_matrix tiles "
                 "(64, 128, 256) or a row to a lane",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_attention_backward = {
    .name = "attention_backward", .operations = operations, .operation_count = 1};

struct backward {
    const ingot_attention_backward_desc *desc;
    struct attention_problem problem;
    struct attention_backward_args args;
};

static bool check_gradient(struct igo_call *call, const struct backward *b, const char *name,
                           const ingot_tensor *gradient, const char *of_name,
                           const ingot_tensor *of, int64_t strides[3]) {
    if (!igo_tensor(call, name, gradient, IGO_FLOATS, 4, 4)) {
        return false;
    }
    igo_same_type(call, name, gradient, of_name, of);
    igo_same_shape(call, name, gradient, of_name, of);
    igo_dense_tail(call, name, gradient, 1);
    igo_attention_strides(strides, gradient);
    if (gradient == b->desc->dout) {
        return !call->failed;
    }
    const ingot_attention_backward_desc *desc = b->desc;
    const ingot_tensor *inputs[] = {desc->q,   desc->k,    desc->v,    desc->out,
                                    desc->lse, desc->dout, desc->mask, desc->slopes};
    static const char *const names[] = {"q", "k", "v", "out", "lse", "dout", "mask", "slopes"};
    for (int i = 0; i < 8; i++) {
        igo_no_overlap(call, name, gradient, names[i], inputs[i], false);
    }
    return !call->failed;
}

static bool check(struct igo_call *call, struct backward *b) {
    const ingot_attention_backward_desc *desc = b->desc;
    IGO_REQUIRE(call, desc->lse, "lse is missing");
    IGO_REQUIRE(call, !desc->dk == !desc->dv, "%s is missing, but %s is there",
                desc->dk ? "dv" : "dk", desc->dk ? "dk" : "dv");
    if (!igo_attention_check(call, &b->problem)) {
        return false;
    }
    check_gradient(call, b, "dout", desc->dout, "out", desc->out, b->args.dout_stride);
    if (desc->dq) {
        check_gradient(call, b, "dq", desc->dq, "q", desc->q, b->args.dq_stride);
    }
    if (desc->dk) {
        check_gradient(call, b, "dk", desc->dk, "k", desc->k, b->args.dk_stride);
    }
    if (desc->dv) {
        check_gradient(call, b, "dv", desc->dv, "v", desc->v, b->args.dv_stride);
    }
    igo_no_overlap(call, "dk", desc->dk, "dq", desc->dq, false);
    igo_no_overlap(call, "dv", desc->dv, "dq", desc->dq, false);
    igo_no_overlap(call, "dv", desc->dv, "dk", desc->dk, false);
    return !call->failed;
}

static void launch_delta(struct igo_call *call, const struct backward *b,
                         const ingot_tensor *delta) {
    const struct attention_problem *p = &b->problem;
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "attention_delta_%s", igo_type_name(p->q->type));
    igo_attention_bind(&launch, p->out);
    igo_attention_bind(&launch, b->desc->dout);
    igo_attention_bind(&launch, delta);
    igo_launch_bytes(&launch, &p->args, sizeof p->args);
    igo_launch_bytes(&launch, &b->args, sizeof b->args);
    launch.threadgroups[0] = p->args.queries;
    launch.threadgroups[1] = p->args.heads;
    launch.threadgroups[2] = p->batches;
    launch.group[0] = ATTENTION_LANES;
    launch.whole_simdgroups = true;
    igo_dispatch(call, &launch);
}

/* ---- by blocks ---- */
static bool is_float(const struct backward *b) {
    return b->desc->q->type == INGOT_SCALAR_F32;
}

/* Elements of rows in the kernels; 0: there are none for so many. */
static uint32_t block_depth(const struct backward *b) {
    static const uint32_t depths[] = {64, 96, 128, 192, 256}, of_float[] = {64, 128};
    const struct attention_args *args = &b->problem.args;
    const uint32_t depth = args->depth > args->value_depth ? args->depth : args->value_depth;
    const uint32_t *all = is_float(b) ? of_float : depths;
    for (size_t i = 0; i < (is_float(b) ? 2 : 5); i++) {
        if (depth <= all[i]) {
            return all[i];
        }
    }
    return 0;
}

/* Threadgroup memory; gives all of it. */
static uint32_t set_block_lengths(const struct backward *b, struct igo_launch *launch) {
    const uint32_t depth = block_depth(b), side = GRADIENT_FLOATS_SIDE;
    const uint32_t line = (depth + GRADIENT_LINE - 1) / GRADIENT_LINE * GRADIENT_LINE * 2;
    const uint32_t others = depth > 192 ? GRADIENT_OTHERS / 2 : GRADIENT_OTHERS;
    const uint32_t apart = 1024; /* products of four SIMD-groups: all begin at multiples of it */
    const uint32_t of_blocks[] = {2 * GRADIENT_SIMDS * 16 * line, 2 * others * line,
                                  2 * others * line, apart, apart};
    const uint32_t panels = 2 * side * (depth + GRADIENT_FLOATS_PAD) * 4;
    const uint32_t weights = side * GRADIENT_FLOATS_WEIGHT_LINE * 4;
    const uint32_t of_floats[] = {panels, panels, weights, weights};
    const uint32_t *lengths = is_float(b) ? of_floats : of_blocks;
    uint32_t all = 0;
    launch->threadgroup_length_count = is_float(b) ? 4 : 5;
    for (size_t i = 0; i < launch->threadgroup_length_count; i++) {
        all += launch->threadgroup_lengths[i] = lengths[i];
    }
    return all;
}

static bool find_blocks(struct igo_call *call, const struct backward *b,
                        struct igo_launch *launch) {
    const uint32_t depth = block_depth(b), simds = GRADIENT_SIMDS;
    *launch = (struct igo_launch){0};
    if (is_float(b)) {
        igo_launch_kernel(launch, "attention_gradients_%u_f32", depth);
    } else {
        igo_launch_kernel(launch, "attention_gradients_%ux%u_%s", depth, simds,
                          igo_type_name(b->problem.q->type));
    }
    return set_block_lengths(b, launch) <= igo_threadgroup_memory(call) &&
           igo_has_kernel(call, launch);
}

/* Also the kernel, and its threadgroup memory. */
static bool blocks_apply(struct igo_call *call, const struct backward *b,
                         struct igo_launch *launch) {
    const struct attention_args *args = &b->problem.args;
    const ingot_attention_backward_desc *desc = b->desc;
    const ingot_tensor *tensors[] = {desc->q,    desc->k,  desc->v,  desc->out,
                                     desc->dout, desc->dq, desc->dk, desc->dv};
    const uint32_t piece = is_float(b) ? 4 : 8;
    bool good = igo_knob(call, KNOB_BLOCKS) && args->scale > 0 && args->depth &&
                args->value_depth && args->queries && args->keys && args->depth % piece == 0 &&
                args->value_depth % piece == 0 && block_depth(b);
    for (int i = 0; good && i < 8; i++) {
        good = !tensors[i] || igo_aligned(tensors[i], 16);
    }
    return good && find_blocks(call, b, launch);
}

static void launch_stats(struct igo_call *call, const struct backward *b,
                         const ingot_tensor *stats) {
    const struct attention_problem *p = &b->problem;
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "attention_gradient_stats_%s", igo_type_name(p->q->type));
    igo_attention_bind(&launch, p->out);
    igo_attention_bind(&launch, b->desc->dout);
    igo_attention_bind(&launch, p->lse);
    igo_attention_bind(&launch, stats);
    igo_launch_bytes(&launch, &p->args, sizeof p->args);
    igo_launch_bytes(&launch, &b->args, sizeof b->args);
    launch.threadgroups[0] = 2 * ((p->args.queries + GRADIENT_STATS - 1) / GRADIENT_STATS);
    launch.threadgroups[1] = p->args.heads;
    launch.threadgroups[2] = p->batches;
    launch.group[0] = 8 * GRADIENT_STATS / 2;
    launch.whole_simdgroups = true;
    igo_dispatch(call, &launch);
}

/* All gradients by one launch. */
static void run_blocks(struct igo_call *call, struct backward *b, struct igo_launch *launch) {
    const struct attention_problem *p = &b->problem;
    const struct attention_args *args = &p->args;
    const ingot_attention_backward_desc *desc = b->desc;
    const uint32_t simds = GRADIENT_SIMDS, rows = (is_float(b) ? 8 : 16) * simds;
    const uint32_t depth = block_depth(b);
    const int64_t padded =
        (int64_t)(args->queries + GRADIENT_STATS - 1) / GRADIENT_STATS * GRADIENT_STATS;
    const int64_t numbers = 2 * padded * args->heads * p->batches;
    ingot_tensor stats = igo_scratch_tensor(call, INGOT_SCALAR_F32, 1, &numbers);
    launch_stats(call, b, &stats);
    b->args.query_blocks = desc->dq ? (args->queries + rows - 1) / rows : 0;
    b->args.key_blocks = desc->dk ? (args->keys + rows - 1) / rows : 0;
    const ingot_tensor *tensors[] = {p->q,    p->k,      p->v,     desc->dout, &stats,
                                     p->mask, p->slopes, desc->dq, desc->dk,   desc->dv};
    for (int i = 0; i < 10; i++) {
        igo_attention_bind(launch, tensors[i]);
    }
    igo_launch_bytes(launch, args, sizeof *args);
    igo_launch_bytes(launch, &b->args, sizeof b->args);
    launch->threadgroups[0] = b->args.query_blocks * args->group +
                              b->args.key_blocks * (depth > GRADIENT_TOGETHER ? 2 : 1);
    launch->threadgroups[1] = p->key_heads;
    launch->threadgroups[2] = p->batches;
    launch->group[0] = ATTENTION_LANES * simds;
    launch->whole_simdgroups = true;
    if (launch->threadgroups[0]) {
        igo_dispatch(call, launch);
    }
    igo_scratch_release(call, stats.buffer);
}

/* ---- by tiles, or a row to a lane ---- */
/* The simdgroup_matrix kernels take whole tiles. */
static bool tiles_apply(const struct attention_args *args) {
    return args->depth > 0 && args->depth % TILE == 0 && args->value_depth % TILE == 0 &&
           args->queries >= OTHERS && args->keys >= OTHERS;
}

/* dq, or dk and dv. */
static void launch_gradient(struct igo_call *call, const struct backward *b,
                            const ingot_tensor *delta, bool by_keys) {
    const struct attention_problem *p = &b->problem;
    uint32_t rows = by_keys ? p->args.keys : p->args.queries, block = ATTENTION_LANES;
    uint32_t together = igo_knob(call, KNOB_TILES), depth = igo_attention_depth_class(&p->args);
    struct igo_launch launch = {0};
    if (rows == 0) {
        return;
    }
    if (together && tiles_apply(&p->args)) {
        block = together * (by_keys || depth > 128 ? TILE : 2 * TILE);
        igo_launch_kernel(&launch, "attention_%s_tiles_%u_%s", by_keys ? "dkv" : "dq", depth,
                          igo_type_name(p->q->type));
    } else {
        together = 1;
        igo_launch_kernel(&launch, "attention_%s_%u_%s", by_keys ? "dkv" : "dq",
                          igo_knob(call, KNOB_STEP), igo_type_name(p->q->type));
    }
    const ingot_tensor *inputs[] = {p->q,   p->k,  p->v,    b->desc->dout,
                                    p->lse, delta, p->mask, p->slopes};
    for (int i = 0; i < 8; i++) {
        igo_attention_bind(&launch, inputs[i]);
    }
    igo_attention_bind(&launch, by_keys ? b->desc->dk : b->desc->dq);
    if (by_keys) {
        igo_attention_bind(&launch, b->desc->dv);
    }
    igo_launch_bytes(&launch, &p->args, sizeof p->args);
    igo_launch_bytes(&launch, &b->args, sizeof b->args);
    launch.threadgroups[0] = (rows + block - 1) / block;
    launch.threadgroups[1] = by_keys ? p->key_heads : p->args.heads;
    launch.threadgroups[2] = p->batches;
    launch.group[0] = together * ATTENTION_LANES;
    launch.whole_simdgroups = true;
    igo_dispatch(call, &launch);
}

ingot_status ingot_op_attention_backward(ingot_ops *ops, ingot_stream *stream,
                                         const ingot_attention_backward_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_attention_backward, &operations[0], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    struct backward b = {.desc = desc,
                         .problem = {.q = desc->q,
                                     .k = desc->k,
                                     .v = desc->v,
                                     .out = desc->out,
                                     .lse = desc->lse,
                                     .mask = desc->mask,
                                     .slopes = desc->slopes,
                                     .scale = desc->scale,
                                     .causal = desc->causal,
                                     .window = desc->window}};
    if (!check(&call, &b) || b.problem.batches == 0) {
        return igo_end(&call);
    }

    const struct attention_args *args = &b.problem.args;
    igo_attention_policy(&call, &b.problem);
    struct igo_launch launch;
    if (blocks_apply(&call, &b, &launch)) {
        run_blocks(&call, &b, &launch);
        return igo_end(&call);
    }
    const int64_t rows = (int64_t)b.problem.batches * args->heads * args->queries;
    const int64_t delta_rows =
        rows ? rows : 1; /* without queries, dk and dv are still filled with 0 */
    ingot_tensor delta = igo_scratch_tensor(&call, INGOT_SCALAR_F32, 1, &delta_rows);
    if (rows) {
        launch_delta(&call, &b, &delta);
    }
    if (desc->dq) {
        launch_gradient(&call, &b, &delta, false);
    }
    if (desc->dk) {
        launch_gradient(&call, &b, &delta, true);
    }
    igo_scratch_release(&call, delta.buffer);
    return igo_end(&call);
}
