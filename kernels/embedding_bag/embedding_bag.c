/* embedding_bag and its backward on the host. */
#include "embedding_bag/embedding_bag_args.h"
#include "ops/elementwise.h"

enum { KNOB_SIMD, KNOB_AHEAD, KNOB_OWNERS = 1, KNOB_GATHER };
#define SIMD_KNOB                                                                                  \
    [KNOB_SIMD] = {.name = "simd",                                                                 \
                   .help = "SIMD-groups per threadgroup",                                          \
                   .fallback = 4,                                                                  \
                   .minimum = 1,                                                                   \
                   .maximum = 32,                                                                  \
                   .power_of_two = true}
static const ingot_ops_knob forward_knobs[] = {
    SIMD_KNOB,
    [KNOB_AHEAD] = {.name = "ahead",
                    .help = "1: 32 indices are looked up at once, and several rows are under way",
                    .fallback = 1,
                    .minimum = 0,
                    .maximum = 1},
};
static const ingot_ops_knob backward_knobs[] = {
    SIMD_KNOB,
    [KNOB_OWNERS] = {.name = "owners",
                     .help = "SIMD-groups that share the rows of the table's gradient",
                     .fallback = 64,
                     .minimum = 1,
                     .maximum = 65536,
                     .power_of_two = true},
    [KNOB_GATHER] = {.name = "gather",
                     .help = "1, 2: entries are gathered by row, and each row is written once; "
                             "1: by all threads together, 2: by the owners of the rows",
                     .fallback = 1,
                     .minimum = 0,
                     .maximum = 2},
};

enum { FORWARD, BACKWARD };
static const struct ingot_ops_info operations[] = {
    [FORWARD] = {.name = "embedding_bag",
                 .family = "embedding",
                 .summary = "rows of a table, looked up and reduced bag by bag",
                 .limits = "fewer than 2^31 bags, rows and columns; sample weights with sum only",
                 .variants = "type, index type, mode, offsets, sample weights, outputs asked for",
                 .types = IGO_FLOATS,
                 .knobs = forward_knobs,
                 .knob_count = sizeof forward_knobs / sizeof *forward_knobs},
    [BACKWARD] = {.name = "embedding_bag_backward",
                  .family = "embedding",
                  .summary = "gradients of the table and of the sample weights, in a fixed order",
                  .limits = "as embedding_bag; the table's gradient is dense",
                  .variants = "type, index type, mode, sample weights",
                  .types = IGO_FLOATS,
                  .knobs = backward_knobs,
                  .knob_count = sizeof backward_knobs / sizeof *backward_knobs},
};

const struct igo_library igo_library_embedding_bag = {
    .name = "embedding_bag", .operations = operations, .operation_count = 2};

/* ---- checks ---- */

struct plan {
    const ingot_bags *bags;
    int64_t bag_count, columns;
    ingot_scalar_type type;
    struct embedding_bag_args args;
};

static bool check_offsets(struct igo_call *call, const ingot_bags *b, int64_t bags) {
    return igo_tensor(call, "offsets", b->offsets, IGO_INDICES, 1, 1) &&
           igo_same_type(call, "offsets", b->offsets, "indices", b->indices) &&
           igo_dense(call, "offsets", b->offsets) &&
           igo_extent(call, "offsets", b->offsets, 0, bags + b->include_last_offset,
                      b->include_last_offset ? "bags and the end" : "bags");
}

/* `rows` is the table's or its gradient's, `out` the result or its gradient. */
static bool check_bags(struct igo_call *call, const ingot_bags *b, const char *table_name,
                       const ingot_tensor *table, const char *out_name, const ingot_tensor *out,
                       struct plan *plan) {
    igo_tensor(call, table_name, table, IGO_FLOATS, 2, 2);
    igo_tensor(call, out_name, out, IGO_FLOATS, 2, 2);
    igo_tensor(call, "indices", b->indices, IGO_INDICES, b->offsets ? 1 : 2, b->offsets ? 1 : 2);
    if (call->failed) {
        return false;
    }
    *plan = (struct plan){
        .bags = b, .bag_count = out->shape[0], .columns = table->shape[1], .type = table->type};
    igo_dense_tail(call, table_name, table, 1);
    igo_dense_tail(call, out_name, out, 1);
    igo_dense(call, "indices", b->indices);
    igo_same_type(call, out_name, out, table_name, table);
    igo_extent(call, out_name, out, 1, plan->columns, "columns of the table");
    IGO_REQUIRE(call, (unsigned)b->mode <= INGOT_BAG_MAX, "mode is %d; it must be 0, 1 or 2",
                (int)b->mode);
    IGO_REQUIRE(call,
                plan->bag_count < INT32_MAX && table->shape[0] < INT32_MAX &&
                    plan->columns < INT32_MAX,
                "%lld bags, %lld rows and %lld columns; each must be below 2^31",
                (long long)plan->bag_count, (long long)table->shape[0], (long long)plan->columns);
    if (b->offsets) {
        check_offsets(call, b, plan->bag_count);
    } else {
        igo_extent(call, "indices", b->indices, 0, plan->bag_count, "bags");
    }
    if (b->sample_weights &&
        igo_tensor(call, "sample_weights", b->sample_weights, IGO_FLOATS, 1, 2)) {
        igo_same_type(call, "sample_weights", b->sample_weights, table_name, table);
        igo_same_shape(call, "sample_weights", b->sample_weights, "indices", b->indices);
        igo_dense(call, "sample_weights", b->sample_weights);
        IGO_REQUIRE(call, b->mode == INGOT_BAG_SUM, "sample weights go with mode 0 (sum), not %d",
                    (int)b->mode);
    }
    int64_t padding = b->has_padding ? b->padding_index : -1;
    plan->args = (struct embedding_bag_args){
        .rows = table->shape[0],
        .padding = b->has_padding && padding < 0 ? padding + table->shape[0] : padding,
        .table_stride = (uint64_t)table->strides[0],
        .out_stride = (uint64_t)out->strides[0],
        .entries = (uint64_t)igo_count(b->indices),
        .bags = (uint32_t)plan->bag_count,
        .length = b->offsets ? 0 : (uint32_t)b->indices->shape[1],
        .columns = (uint32_t)plan->columns,
    };
    return IGO_REQUIRE(
        call, !b->has_padding || (plan->args.padding >= 0 && plan->args.padding < table->shape[0]),
        "padding_index is %lld; the table has %lld rows", (long long)b->padding_index,
        (long long)table->shape[0]);
}

static void choose(struct igo_call *call, const struct plan *plan) {
    static const char *const modes[] = {"sum", "mean", "max"};
    struct igo_class words = {0};
    igo_class_word(&words, modes[plan->bags->mode]);
    igo_class_size(&words, "d", (uint64_t)plan->columns, 4096);
    igo_policy(call, plan->type, &words);
}

static const char *index_name(const struct plan *plan) {
    return igo_type_name(plan->bags->indices->type);
}

/* Something to bind where a tensor is empty or absent: 64 bytes that kernels never read. */
static ingot_tensor blank(struct igo_call *call) {
    return igo_scratch_tensor(call, INGOT_SCALAR_F32, 1, &(int64_t){16});
}

static void bind(struct igo_launch *launch, const ingot_tensor *t, const ingot_tensor *instead) {
    igo_launch_tensor(launch, t && igo_count(t) ? t : NULL, instead);
}

/* ---- forward ---- */

static void launch_forward(struct igo_call *call, const struct plan *plan,
                           const ingot_embedding_bag_desc *d, const ingot_tensor *none) {
    const uint32_t simd = igo_knob(call, KNOB_SIMD);
    struct igo_launch launch = {.group = {32 * simd, 1, 1}, .whole_simdgroups = true};
    igo_launch_kernel(&launch, "embedding_bag_%s_%s", igo_type_name(plan->type), index_name(plan));
    igo_launch_constant_i32(&launch, "mode", (int32_t)plan->bags->mode);
    igo_launch_constant_bool(&launch, "has_offsets", plan->bags->offsets != NULL);
    igo_launch_constant_bool(&launch, "has_weights", plan->bags->sample_weights != NULL);
    igo_launch_constant_bool(&launch, "has_largest", d->largest != NULL);
    igo_launch_constant_bool(&launch, "has_errors", d->errors != NULL);
    const bool ahead = igo_knob(call, KNOB_AHEAD);
    igo_launch_constant_bool(&launch, "ahead", ahead);
    igo_launch_constant_bool(&launch, "wide",
                             ahead && plan->columns % 4 == 0 &&
                                 igo_aligned(d->table, 4 * (uint32_t)ig_scalar_size(plan->type)));
    bind(&launch, d->table, none);
    bind(&launch, plan->bags->indices, none);
    bind(&launch, plan->bags->offsets, none);
    bind(&launch, plan->bags->sample_weights, none);
    bind(&launch, d->out, none);
    bind(&launch, d->largest, none);
    bind(&launch, d->errors, none);
    igo_launch_bytes(&launch, &plan->args, sizeof plan->args);
    launch.threadgroups[0] = (plan->args.bags + simd - 1) / simd;
    launch.threadgroups[1] = (plan->args.columns + 127) / 128;
    igo_dispatch(call, &launch);
}

ingot_status ingot_op_embedding_bag(ingot_ops *ops, ingot_stream *stream,
                                    const ingot_embedding_bag_desc *desc) {
    struct igo_call call;
    struct plan plan;
    igo_begin(&call, ops, stream, &igo_library_embedding_bag, &operations[FORWARD], desc);
    if (call.failed ||
        !check_bags(&call, &desc->bags, "table", desc->table, "out", desc->out, &plan)) {
        return igo_end(&call);
    }
    if (desc->largest &&
        igo_tensor(&call, "largest", desc->largest, IGO_TYPE(INGOT_SCALAR_I32), 2, 2)) {
        igo_same_shape(&call, "largest", desc->largest, "out", desc->out);
        igo_dense(&call, "largest", desc->largest);
        IGO_REQUIRE(&call, desc->bags.mode == INGOT_BAG_MAX,
                    "largest goes with mode 2 (max), not %d", (int)desc->bags.mode);
    }
    if (desc->errors &&
        igo_tensor(&call, "errors", desc->errors, IGO_TYPE(INGOT_SCALAR_I32), 1, 1)) {
        igo_extent(&call, "errors", desc->errors, 0, 1, "one counter");
    }
    igo_no_overlap(&call, "out", desc->out, "table", desc->table, false);
    igo_no_overlap(&call, "out", desc->out, "indices", desc->bags.indices, false);
    if (call.failed || !igo_count(desc->out)) {
        return igo_end(&call);
    }
    choose(&call, &plan);
    ingot_tensor none = blank(&call);
    launch_forward(&call, &plan, desc, &none);
    igo_scratch_release(&call, none.buffer);
    return igo_end(&call);
}

/* ---- backward ---- */

struct backward {
    const ingot_embedding_bag_backward_desc *desc;
    struct plan plan;
    ingot_tensor none;
    ingot_tensor sums;            /* the gradient in float */
    ingot_buffer *bags, *factors; /* by entry, by bag */
};

static void find_bags(struct igo_call *call, struct backward *b) {
    const struct plan *plan = &b->plan;
    b->bags = igo_scratch(call, plan->args.entries * 4);
    b->factors = igo_scratch(call, (uint64_t)plan->args.bags * 4);
    struct igo_launch launch = {
        .group = {32, 1, 1}, .threadgroups = {plan->args.bags, 1, 1}, .whole_simdgroups = true};
    igo_launch_kernel(&launch, "bag_of_entry_%s", index_name(plan));
    igo_launch_constant_i32(&launch, "mode", plan->bags->mode == INGOT_BAG_MEAN);
    igo_launch_constant_bool(&launch, "has_offsets", plan->bags->offsets != NULL);
    bind(&launch, plan->bags->indices, &b->none);
    bind(&launch, plan->bags->offsets, &b->none);
    igo_launch_buffer(&launch, b->bags, 0);
    igo_launch_buffer(&launch, b->factors, 0);
    igo_launch_bytes(&launch, &plan->args, sizeof plan->args);
    igo_dispatch(call, &launch);
}

/* A launch of up to `most` owners, and what they read. */
static void launch_owners(struct igo_launch *launch, struct igo_call *call, struct backward *b,
                          struct embedding_bag_args *args, const char *kernel, uint32_t most) {
    const uint32_t simd = igo_knob(call, KNOB_SIMD);
    args->owners = igo_knob(call, KNOB_OWNERS);
    while (args->owners > most) {
        args->owners /= 2;
    }
    if (args->owners < simd) {
        args->owners = simd;
    }
    *launch = (struct igo_launch){.group = {32 * simd, 1, 1},
                                  .threadgroups = {args->owners / simd, 1, 1},
                                  .whole_simdgroups = true};
    igo_launch_kernel(launch, "%s_%s_%s", kernel, igo_type_name(b->plan.type),
                      index_name(&b->plan));
    igo_launch_constant_bool(launch, "has_weights", b->plan.bags->sample_weights != NULL);
    bind(launch, b->desc->d_out, &b->none);
    bind(launch, b->plan.bags->indices, &b->none);
    igo_launch_buffer(launch, b->bags, 0);
    igo_launch_buffer(launch, b->factors, 0);
    bind(launch, b->plan.bags->sample_weights, &b->none);
}

static void add_up(struct igo_call *call, struct backward *b) {
    struct embedding_bag_args args = b->plan.args;
    struct igo_launch launch;
    launch_owners(&launch, call, b, &args, "embedding_bag_backward", UINT32_MAX);
    args.table_stride = (uint64_t)b->sums.strides[0];
    bind(&launch, &b->sums, &b->none);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
}

static void add_up_shares(struct igo_call *call, struct backward *b) {
    struct embedding_bag_args args = b->plan.args;
    struct igo_launch launch;
    /* each looks through all entries: more do not pay than it takes to even out their work */
    launch_owners(&launch, call, b, &args, "embedding_bag_shares",
                  4 * igo_device_info(call)->compute_units);
    ingot_buffer *ends = igo_scratch(call, (uint64_t)args.rows * 4);
    ingot_buffer *places = igo_scratch(call, args.entries * 4);
    args.past_caches = igo_stores_past_caches(call, b->desc->d_table);
    igo_launch_buffer(&launch, ends, 0);
    igo_launch_buffer(&launch, places, 0);
    igo_launch_tensor(&launch, b->desc->d_table, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
    igo_scratch_release(call, ends);
    igo_scratch_release(call, places);
}

/* The entries of each row of the table, in any order. */
struct gathered {
    ingot_tensor counts;
    ingot_buffer *starts, *ranks, *places, *sums;
};

/* One of the steps: a SIMD-group for each of `groups`. */
static struct igo_launch gather_step(uint32_t groups) {
    return (struct igo_launch){
        .group = {32, 1, 1}, .threadgroups = {groups, 1, 1}, .whole_simdgroups = true};
}

static void gather_bags(struct igo_launch *launch, struct backward *b, const char *kernel) {
    *launch = gather_step(b->plan.args.bags);
    igo_launch_kernel(launch, "%s_%s", kernel, index_name(&b->plan));
    igo_launch_constant_bool(launch, "has_offsets", b->plan.bags->offsets != NULL);
    bind(launch, b->plan.bags->indices, &b->none);
    bind(launch, b->plan.bags->offsets, &b->none);
}

static void gather(struct igo_call *call, struct backward *b, struct gathered *g) {
    const struct embedding_bag_args *args = &b->plan.args;
    const uint64_t rows = (uint64_t)args->rows, blocks = (rows + BAG_BLOCK - 1) / BAG_BLOCK;
    g->counts = igo_scratch_tensor(call, INGOT_SCALAR_I32, 1, &args->rows);
    g->starts = igo_scratch(call, rows * 4);
    g->ranks = igo_scratch(call, args->entries * 4);
    g->places = igo_scratch(call, args->entries * 4);
    g->sums = igo_scratch(call, blocks * 4);
    igo_blit_fill(call, &g->counts, 0);

    struct igo_launch launch;
    gather_bags(&launch, b, "bag_count");
    igo_launch_tensor(&launch, &g->counts, NULL);
    igo_launch_buffer(&launch, g->ranks, 0);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_dispatch(call, &launch);

    launch = gather_step((uint32_t)blocks);
    launch.kernel = "bag_sums";
    igo_launch_tensor(&launch, &g->counts, NULL);
    igo_launch_buffer(&launch, g->sums, 0);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_dispatch(call, &launch);

    launch = gather_step(1);
    launch.kernel = "bag_scan";
    igo_launch_buffer(&launch, g->sums, 0);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_dispatch(call, &launch);

    launch = gather_step((uint32_t)blocks);
    launch.kernel = "bag_starts";
    igo_launch_tensor(&launch, &g->counts, NULL);
    igo_launch_buffer(&launch, g->sums, 0);
    igo_launch_buffer(&launch, g->starts, 0);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_dispatch(call, &launch);

    gather_bags(&launch, b, "bag_place");
    igo_launch_buffer(&launch, g->starts, 0);
    igo_launch_buffer(&launch, g->ranks, 0);
    igo_launch_buffer(&launch, g->places, 0);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_dispatch(call, &launch);
}

static void add_up_rows(struct igo_call *call, struct backward *b) {
    struct gathered g = {0};
    gather(call, b, &g);
    const struct plan *plan = &b->plan;
    const uint32_t four = 4 * (uint32_t)ig_scalar_size(plan->type);
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "embedding_bag_rows_%s_%s", igo_type_name(plan->type),
                      index_name(plan));
    igo_launch_constant_bool(&launch, "has_weights", plan->bags->sample_weights != NULL);
    igo_launch_constant_bool(&launch, "wide",
                             plan->columns % 4 == 0 && igo_aligned(b->desc->d_table, four) &&
                                 igo_aligned(b->desc->d_out, four));
    bind(&launch, b->desc->d_out, &b->none);
    bind(&launch, plan->bags->indices, &b->none);
    igo_launch_buffer(&launch, b->bags, 0);
    igo_launch_buffer(&launch, b->factors, 0);
    bind(&launch, plan->bags->sample_weights, &b->none);
    igo_launch_tensor(&launch, &g.counts, NULL);
    igo_launch_buffer(&launch, g.starts, 0);
    igo_launch_buffer(&launch, g.places, 0);
    igo_launch_tensor(&launch, b->desc->d_table, NULL);
    igo_launch_bytes(&launch, &plan->args, sizeof plan->args);
    igo_launch_simdgroups(&launch, (uint64_t)plan->args.rows, igo_knob(call, KNOB_SIMD));
    launch.threadgroups[2] = (plan->args.columns + 127) / 128;
    igo_dispatch(call, &launch);

    igo_scratch_release(call, g.counts.buffer);
    ingot_buffer *const buffers[] = {g.starts, g.ranks, g.places, g.sums};
    for (size_t i = 0; i < sizeof buffers / sizeof *buffers; i++) {
        igo_scratch_release(call, buffers[i]);
    }
}

static void add_up_max(struct igo_call *call, struct backward *b) {
    struct embedding_bag_args args = b->plan.args;
    args.table_stride = (uint64_t)b->sums.strides[0];
    struct igo_launch launch = {.group = {32, 1, 1}, .threads = {args.columns, 1, 1}};
    igo_launch_kernel(&launch, "embedding_bag_max_backward_%s", igo_type_name(b->plan.type));
    bind(&launch, b->desc->d_out, &b->none);
    bind(&launch, b->desc->largest, &b->none);
    bind(&launch, &b->sums, &b->none);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
}

static void round_sums(struct igo_call *call, struct backward *b) {
    struct embedding_bag_args args = b->plan.args;
    args.table_stride = (uint64_t)b->sums.strides[0];
    args.out_stride = (uint64_t)b->desc->d_table->strides[0];
    struct igo_launch launch = {.group = {128, 1, 1},
                                .threads = {args.columns, (uint32_t)args.rows, 1}};
    igo_launch_kernel(&launch, "round_table_%s", igo_type_name(b->plan.type));
    igo_launch_tensor(&launch, &b->sums, NULL);
    igo_launch_tensor(&launch, b->desc->d_table, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
}

static void table_gradient(struct igo_call *call, struct backward *b) {
    const ingot_tensor *d_table = b->desc->d_table;
    const uint32_t gathers = igo_knob(call, KNOB_GATHER);
    if (b->bags && gathers && b->plan.args.entries < UINT32_MAX) {
        (gathers == 2 ? add_up_shares : add_up_rows)(call, b);
        return;
    }
    bool direct = d_table->type == INGOT_SCALAR_F32 && igo_is_dense(d_table);
    b->sums = direct ? *d_table : igo_scratch_tensor(call, INGOT_SCALAR_F32, 2, d_table->shape);
    igo_blit_fill(call, &b->sums, 0);
    if (b->plan.bags->mode == INGOT_BAG_MAX && b->plan.bag_count) {
        add_up_max(call, b);
    } else if (b->bags) {
        add_up(call, b);
    }
    if (!direct) {
        round_sums(call, b);
        igo_scratch_release(call, b->sums.buffer);
    }
}

static void weights_gradient(struct igo_call *call, struct backward *b) {
    struct embedding_bag_args args = b->plan.args;
    const uint32_t simd = igo_knob(call, KNOB_SIMD);
    args.table_stride = (uint64_t)b->desc->table->strides[0];
    uint64_t groups = (args.entries + simd - 1) / simd;
    struct igo_launch launch = {.group = {32 * simd, 1, 1}, .whole_simdgroups = true};
    igo_launch_kernel(&launch, "embedding_bag_weights_backward_%s_%s", igo_type_name(b->plan.type),
                      index_name(&b->plan));
    igo_launch_tensor(&launch, b->desc->d_out, NULL);
    igo_launch_tensor(&launch, b->plan.bags->indices, NULL);
    igo_launch_buffer(&launch, b->bags, 0);
    bind(&launch, b->desc->table, &b->none);
    igo_launch_tensor(&launch, b->desc->d_sample_weights, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.threadgroups[0] = (uint32_t)(groups > 65536 ? 65536 : groups);
    launch.threadgroups[1] = (uint32_t)((groups + 65535) / 65536);
    igo_dispatch(call, &launch);
}

static bool check_backward(struct igo_call *call, struct backward *b) {
    const ingot_embedding_bag_backward_desc *d = b->desc;
    if (!check_bags(call, &d->bags, "d_table", d->d_table, "d_out", d->d_out, &b->plan)) {
        return false;
    }
    if (d->bags.mode == INGOT_BAG_MAX) {
        igo_tensor(call, "largest", d->largest, IGO_TYPE(INGOT_SCALAR_I32), 2, 2);
        if (!call->failed) {
            igo_same_shape(call, "largest", d->largest, "d_out", d->d_out);
            igo_dense(call, "largest", d->largest);
        }
    }
    if (d->d_sample_weights) {
        IGO_REQUIRE(call, d->bags.sample_weights,
                    "d_sample_weights is asked for, but there are no "
                    "sample_weights");
        igo_tensor(call, "d_sample_weights", d->d_sample_weights, IGO_FLOATS, 1, 2);
        igo_tensor(call, "table", d->table, IGO_FLOATS, 2, 2);
        if (!call->failed) {
            igo_same_shape(call, "table", d->table, "d_table", d->d_table);
            igo_same_type(call, "table", d->table, "d_table", d->d_table);
            igo_dense_tail(call, "table", d->table, 1);
            igo_same_shape(call, "d_sample_weights", d->d_sample_weights, "indices",
                           d->bags.indices);
            igo_same_type(call, "d_sample_weights", d->d_sample_weights, "d_out", d->d_out);
            igo_dense(call, "d_sample_weights", d->d_sample_weights);
        }
    }
    return igo_no_overlap(call, "d_table", d->d_table, "d_out", d->d_out, false) &&
           igo_no_overlap(call, "d_table", d->d_table, "indices", d->bags.indices, false);
}

ingot_status ingot_op_embedding_bag_backward(ingot_ops *ops, ingot_stream *stream,
                                             const ingot_embedding_bag_backward_desc *desc) {
    struct igo_call call;
    struct backward b = {.desc = desc};
    igo_begin(&call, ops, stream, &igo_library_embedding_bag, &operations[BACKWARD], desc);
    if (call.failed || !check_backward(&call, &b)) {
        return igo_end(&call);
    }
    choose(&call, &b.plan);
    b.none = blank(&call);
    bool entries = b.plan.args.entries && b.plan.bag_count && b.plan.columns;
    if (entries && desc->bags.mode != INGOT_BAG_MAX) {
        find_bags(&call, &b);
    }
    if (igo_count(desc->d_table)) {
        table_gradient(&call, &b);
    }
    if (entries && desc->d_sample_weights) {
        weights_gradient(&call, &b);
    }
    igo_scratch_release(&call, b.bags);
    igo_scratch_release(&call, b.factors);
    igo_scratch_release(&call, b.none.buffer);
    return igo_end(&call);
}
