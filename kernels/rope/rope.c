/*
 * rope on the host. The rows of x are numbered by batch, head and position, in the order in which
 * they lie in memory. Angles are computed in the kernel, or once for all heads into a table in
 * scratch memory, as the policy says; the caller's own tables are used as they are.
 */
#include "ops/elementwise.h"
#include "rope/rope_args.h"
#include "rope/rope_frequencies.h"

enum { KNOB_SIMD, KNOB_ROWS, KNOB_TABLE, KNOB_WIDE, KNOB_STAY };
static const ingot_ops_knob knobs[] = {
    [KNOB_SIMD] = {.name = "simd",
                   .help = "SIMD-groups per threadgroup",
                   .fallback = 8,
                   .minimum = 1,
                   .maximum = 32,
                   .power_of_two = true},
    [KNOB_ROWS] = {.name = "rows",
                   .help = "rows per SIMD-group",
                   .fallback = 1,
                   .minimum = 1,
                   .maximum = 1024,
                   .power_of_two = true},
    [KNOB_TABLE] = {.name = "table",
                    .help = "1: angles are computed once for all heads, in a launch before",
                    .fallback = 0,
                    .minimum = 0,
                    .maximum = 1},
    [KNOB_WIDE] = {.name = "wide",
                   .help =
                       "heads of a thread that turns four pairs of each (one, if the caller has a "
                       "table); 0: rows go to SIMD-groups, as they do where memory is not "
                       "aligned",
                   .fallback = 4,
                   .minimum = 0,
                   .maximum = 64},
    [KNOB_STAY] = {.name = "stay",
                   .help = "MiB of x from which such threads ask the second cache to keep it, so "
                           "that results leave that first (16-bit types with a table do not); 0: "
                           "they never do",
                   .fallback = 0,
                   .minimum = 0,
                   .maximum = 65536},
};

enum { ROPE, ROPE_BACKWARD };
#define OPERATION(op, text)                                                                        \
    {.name = op,                                                                                   \
     .family = "position",                                                                         \
     .summary = text,                                                                              \
     .limits = "at most 1024 dimensions are turned; the last dimension is contiguous",             \
     .variants = "type, half-split or interleaved, table or angles in the kernel",                 \
     .types = IGO_FLOATS,                                                                          \
     .knobs = knobs,                                                                               \
     .knob_count = sizeof knobs / sizeof *knobs}
static const struct ingot_ops_info operations[] = {
    OPERATION("rope", "rotary position embedding"),
    OPERATION("rope_backward", "gradient of rope"),
};

const struct igo_library igo_library_rope = {
    .name = "rope", .operations = operations, .operation_count = 2};

/* ---- checks ---- */

static void check_positions(struct igo_call *call, const ingot_rope_desc *desc) {
    const ingot_tensor *positions = desc->positions;
    if (!positions || !igo_tensor(call, "positions", positions, IGO_INDICES, 1, 2)) {
        return;
    }
    igo_extent(call, "positions", positions, -1, desc->x->shape[2], "the positions of x");
    if (positions->rank == 2) {
        igo_extent(call, "positions", positions, 0, desc->x->shape[0], "the batch of x");
    }
    igo_no_overlap(call, "out", desc->out, "positions", positions, false);
}

static void check_table(struct igo_call *call, const ingot_rope_desc *desc, const char *name,
                        const ingot_tensor *table, int64_t pairs) {
    if (!igo_tensor(call, name, table,
                    IGO_TYPE(INGOT_SCALAR_F32) | IGO_TYPE((unsigned)desc->x->type), 2, 2)) {
        return;
    }
    igo_extent(call, name, table, 1, pairs, "half of dims");
    igo_dense_tail(call, name, table, 1);
    igo_no_overlap(call, "out", desc->out, name, table, false);
}

static void check_tables(struct igo_call *call, const ingot_rope_desc *desc, int64_t pairs) {
    if (call->failed || (!desc->cos && !desc->sin)) {
        return;
    }
    check_table(call, desc, "cos", desc->cos, pairs);
    check_table(call, desc, "sin", desc->sin, pairs);
    if (call->failed) {
        return;
    }
    igo_same_type(call, "sin", desc->sin, "cos", desc->cos);
    igo_same_shape(call, "sin", desc->sin, "cos", desc->cos);
}

static void check_numbers(struct igo_call *call, const ingot_rope_desc *desc, int64_t dims) {
    IGO_REQUIRE(call, dims >= 0 && dims % 2 == 0 && dims <= 2 * ROPE_MAX_PAIRS,
                "dims is %lld; it must be even and at most %d", (long long)dims,
                2 * ROPE_MAX_PAIRS);
    IGO_REQUIRE(call, dims <= desc->x->shape[3],
                "dims is %lld, but the rows of x have %lld elements", (long long)dims,
                (long long)desc->x->shape[3]);
    double base = desc->base, scale = desc->scale;
    IGO_REQUIRE(call, base == 0 || (base >= 1e-3 && base <= 1e30),
                "base is %g; it must be between 1e-3 and 1e30 (or 0 for 10000)", base);
    IGO_REQUIRE(call, scale >= -1e9 && scale <= 1e9, "scale is %g; it must be within 1e9 of 0",
                scale);
}

static bool check(struct igo_call *call, const ingot_rope_desc *desc, int64_t dims) {
    igo_same_type(call, "out", desc->out, "x", desc->x);
    igo_same_shape(call, "out", desc->out, "x", desc->x);
    igo_dense_tail(call, "x", desc->x, 1);
    igo_dense_tail(call, "out", desc->out, 1);
    igo_no_self_overlap(call, "out", desc->out);
    igo_no_overlap(call, "out", desc->out, "x", desc->x, true);
    check_numbers(call, desc, dims);
    check_positions(call, desc);
    check_tables(call, desc, dims / 2);
    return !call->failed;
}

/* ---- launches ---- */

static uint32_t position_size(const ingot_rope_desc *desc) {
    return !desc->positions ? 0 : desc->positions->type == INGOT_SCALAR_I64 ? 8 : 4;
}

/* How far apart the positions of a batch and of a row stand, or are. */
static void position_strides(const ingot_rope_desc *desc, uint64_t strides[2]) {
    const ingot_tensor *p = desc->positions;
    strides[0] = p && p->rank == 2 ? (uint64_t)p->strides[0] : 0;
    strides[1] = p ? (uint64_t)p->strides[p->rank - 1] : 1;
}

/* Dimensions from the widest stride of x to the narrowest, so that a SIMD-group walks memory in its
 * order. index_strides are by batch and position. */
static void order_rows(struct rope_args *args, const ingot_rope_desc *desc,
                       const uint64_t index_strides[2]) {
    const ingot_tensor *x = desc->x, *out = desc->out;
    int order[ROPE_DIMS] = {0, 1, 2};
    for (int i = 1; i < ROPE_DIMS; i++) {
        for (int k = i; k && x->strides[order[k]] > x->strides[order[k - 1]]; k--) {
            int swap = order[k];
            order[k] = order[k - 1];
            order[k - 1] = swap;
        }
    }
    for (int i = 0; i < ROPE_DIMS; i++) {
        int dim = order[i];
        args->extents[i] = (uint64_t)x->shape[dim];
        args->x_strides[i] = (uint64_t)x->strides[dim];
        args->out_strides[i] = (uint64_t)out->strides[dim];
        args->index_strides[i] = dim == 0 ? index_strides[0] : dim == 2 ? index_strides[1] : 0;
    }
}

/* An optional tensor; x's memory, at a place that suits every type, stands in for it. */
static void bind(struct igo_launch *launch, const ingot_tensor *tensor, const ingot_tensor *x) {
    if (tensor && tensor->buffer) {
        igo_launch_tensor(launch, tensor, NULL);
    } else {
        igo_launch_buffer(launch, x->buffer, 0);
    }
}

/* Cosines, then sines, of every position, for all heads. */
static ingot_buffer *make_table(struct igo_call *call, const ingot_rope_desc *desc,
                                const uint64_t *frequencies, uint32_t pairs, uint64_t rows) {
    struct rope_angles_args args = {.rows = rows,
                                    .length = (uint64_t)desc->x->shape[2],
                                    .offset = desc->offset,
                                    .pairs = pairs,
                                    .position_size = position_size(desc)};
    position_strides(desc, args.strides);
    ingot_buffer *table = igo_scratch(call, 2 * rows * pairs * sizeof(float));
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "rope_angles");
    bind(&launch, desc->positions, desc->x);
    igo_launch_bytes(&launch, frequencies, pairs * sizeof *frequencies);
    igo_launch_buffer(&launch, table, 0);
    igo_launch_buffer(&launch, table, rows * pairs * sizeof(float));
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_simdgroups(&launch, rows, 8);
    igo_dispatch(call, &launch);
    return table;
}

static void launch_rows(struct igo_call *call, const ingot_rope_desc *desc, struct rope_args *args,
                        const uint64_t *frequencies, ingot_buffer *table) {
    args->block = igo_knob(call, KNOB_ROWS);
    args->blocks = (args->extents[2] + args->block - 1) / args->block;
    struct igo_launch launch = {0};
    const char *type = igo_type_name(desc->x->type);
    if (desc->cos && desc->cos->type != INGOT_SCALAR_F32) {
        igo_launch_kernel(&launch, "rope_%s_%s", type, type);
    } else {
        igo_launch_kernel(&launch, "rope_%s", type);
    }
    igo_launch_constant_bool(&launch, "rope_interleaved", desc->interleaved);
    igo_launch_constant_bool(&launch, "rope_table", table || desc->cos);
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_tensor(&launch, desc->out, NULL);
    bind(&launch, desc->positions, desc->x);
    igo_launch_bytes(&launch, frequencies, (args->pairs ? args->pairs : 1) * sizeof *frequencies);
    if (table) {
        igo_launch_buffer(&launch, table, 0);
        igo_launch_buffer(&launch, table, args->table_rows * args->pairs * sizeof(float));
    } else {
        bind(&launch, desc->cos, desc->x);
        bind(&launch, desc->sin, desc->x);
    }
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_launch_simdgroups(&launch, args->extents[0] * args->extents[1] * args->blocks,
                          igo_knob(call, KNOB_SIMD));
    igo_dispatch(call, &launch);
}

/* ---- four pairs to a thread ---- */

static bool is_quad_aligned(const ingot_tensor *tensor) {
    bool aligned = igo_aligned_to_four(tensor);
    for (uint32_t i = 0; i + 1 < tensor->rank; i++) {
        aligned &= tensor->shape[i] <= 1 || tensor->strides[i] % 4 == 0;
    }
    return aligned;
}

static bool can_be_wide(const struct igo_call *call, const ingot_rope_desc *desc, int64_t dims) {
    const uint64_t most = (uint64_t)1 << 31;
    return igo_knob(call, KNOB_WIDE) && dims && dims % 8 == 0 && dims == desc->x->shape[3] &&
           is_quad_aligned(desc->x) && is_quad_aligned(desc->out) &&
           (!desc->cos || (is_quad_aligned(desc->cos) && is_quad_aligned(desc->sin))) &&
           (uint64_t)desc->x->shape[2] * (uint64_t)dims / 8 < most &&
           (uint64_t)desc->x->shape[0] < most && (uint64_t)desc->x->shape[1] < most;
}

static bool x_stays(const struct igo_call *call, const ingot_tensor *x) {
    const uint64_t least = (uint64_t)igo_knob(call, KNOB_STAY) << 20;
    return least && (uint64_t)igo_count(x) * ig_scalar_size(x->type) >= least;
}

static void launch_wide(struct igo_call *call, const ingot_rope_desc *desc,
                        const struct rope_args *from, const uint64_t *frequencies) {
    enum { GROUP = 256, BUSY = 1 << 17 };
    const int64_t *shape = desc->x->shape;
    struct rope_wide_args args = {.cos_stride = from->cos_stride,
                                  .sin_stride = from->sin_stride,
                                  .table_rows = from->table_rows,
                                  .offset = from->offset,
                                  .length = (uint32_t)shape[2],
                                  .heads = (uint32_t)shape[1],
                                  .block = igo_knob(call, KNOB_WIDE),
                                  .pairs = from->pairs,
                                  .position_size = from->position_size,
                                  .sign = from->sign};
    position_strides(desc, args.index_strides);
    for (int i = 0; i < ROPE_DIMS; i++) {
        args.x_strides[i] = (uint64_t)desc->x->strides[i];
        args.out_strides[i] = (uint64_t)desc->out->strides[i];
    }
    uint32_t quads = args.length * (args.pairs / 4);
    while (args.block > 1 &&
           (uint64_t)quads * (uint64_t)shape[0] * (args.heads / args.block) < BUSY) {
        args.block /= 2;
    }
    struct igo_launch launch = {0};
    const char *type = igo_type_name(desc->x->type);
    if (desc->cos && desc->cos->type != INGOT_SCALAR_F32) {
        igo_launch_kernel(&launch, "rope_wide_%s_%s", type, type);
    } else {
        igo_launch_kernel(&launch, "rope_wide_%s", type);
    }
    igo_launch_constant_bool(&launch, "rope_interleaved", desc->interleaved);
    igo_launch_constant_bool(&launch, "rope_table", desc->cos != NULL);
    igo_launch_constant_bool(&launch, "rope_stays", x_stays(call, desc->x));
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_tensor(&launch, desc->out, NULL);
    bind(&launch, desc->positions, desc->x);
    igo_launch_bytes(&launch, frequencies, args.pairs * sizeof *frequencies);
    bind(&launch, desc->cos, desc->x);
    bind(&launch, desc->sin, desc->x);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.threads[0] = quads;
    launch.threads[1] = (args.heads + args.block - 1) / args.block;
    launch.threads[2] = (uint32_t)shape[0];
    launch.group[0] = quads < GROUP ? quads : GROUP;
    launch.group[1] = launch.group[2] = 1;
    igo_dispatch(call, &launch);
}

/* ---- with a table, pairs of one row to a thread ---- */

/* Eight pairs are two vectors of 16 bytes. */
static uint32_t pairs_of_thread(const ingot_rope_desc *desc, uint32_t pairs) {
    bool eight = pairs % 8 == 0 && ig_scalar_size(desc->x->type) == 2 && igo_aligned(desc->x, 16) &&
                 igo_aligned(desc->out, 16);
    return eight ? 8 : 4;
}

/* Whether the last element is less than 2^32 from the first, and none comes before it. */
static bool is_near(const ingot_tensor *tensor) {
    uint64_t last = 0;
    for (uint32_t i = 0; tensor && i < tensor->rank; i++) {
        if (tensor->shape[i] <= 1) {
            continue;
        }
        uint64_t steps = (uint64_t)tensor->shape[i] - 1, stride = (uint64_t)tensor->strides[i];
        if (tensor->strides[i] < 0 || steps > UINT32_MAX || stride > UINT32_MAX) {
            return false;
        }
        last += steps * stride;
        if (last > UINT32_MAX) {
            return false;
        }
    }
    return true;
}

static bool can_be_lines(const ingot_rope_desc *desc) {
    return desc->cos && is_near(desc->x) && is_near(desc->out) && is_near(desc->cos) &&
           is_near(desc->sin) && is_near(desc->positions);
}

static void launch_lines(struct igo_call *call, const ingot_rope_desc *desc,
                         const struct rope_args *from) {
    enum { GROUP = 256, LEAST_GROUP = 64, BUSY = 512 };
    const int64_t *shape = desc->x->shape, *strides = desc->x->strides;
    const bool along_heads = shape[2] == 1 || (shape[1] > 1 && strides[1] < strides[2]);
    const int dims[ROPE_DIMS] = {0, along_heads ? 2 : 1, along_heads ? 1 : 2};
    const uint32_t pairs = pairs_of_thread(desc, from->pairs), parts = from->pairs / pairs;
    uint64_t of_positions[2];
    position_strides(desc, of_positions);
    const uint64_t index_strides[ROPE_DIMS] = {of_positions[0], 0, of_positions[1]};
    struct rope_lines_args args = {.cos_stride = (uint32_t)from->cos_stride,
                                   .sin_stride = (uint32_t)from->sin_stride,
                                   .table_rows = (uint32_t)from->table_rows,
                                   .offset = from->offset,
                                   .length = (uint32_t)shape[dims[2]],
                                   .parts = parts,
                                   .parts_inverse = (65536 + parts - 1) / parts,
                                   .pairs = from->pairs,
                                   .position_size = from->position_size,
                                   .sign = from->sign};
    for (int i = 0; i < ROPE_DIMS; i++) {
        args.x_strides[i] = (uint32_t)strides[dims[i]];
        args.out_strides[i] = (uint32_t)desc->out->strides[dims[i]];
        args.index_strides[i] = (uint32_t)index_strides[dims[i]];
    }
    const uint64_t others = (uint64_t)shape[0] * (uint64_t)shape[dims[1]];
    args.lines = GROUP / parts;
    while (args.lines * parts >= 2 * LEAST_GROUP && args.length / args.lines * others < BUSY) {
        args.lines /= 2;
    }
    struct igo_launch launch = {0};
    const char *type = igo_type_name(desc->x->type);
    const bool stays = desc->x->type == INGOT_SCALAR_F32 && x_stays(call, desc->x);
    if (desc->cos->type != INGOT_SCALAR_F32) {
        igo_launch_kernel(&launch, "rope_lines_%s_%s_%u", type, type, pairs);
    } else {
        igo_launch_kernel(&launch, "rope_lines_%s_%u", type, pairs);
    }
    igo_launch_constant_bool(&launch, "rope_interleaved", desc->interleaved);
    igo_launch_constant_bool(&launch, "rope_stays", stays);
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_tensor(&launch, desc->out, NULL);
    bind(&launch, desc->positions, desc->x);
    igo_launch_tensor(&launch, desc->cos, NULL);
    igo_launch_tensor(&launch, desc->sin, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.threadgroups[0] = (args.length + args.lines - 1) / args.lines;
    launch.threadgroups[1] = (uint32_t)shape[dims[1]];
    launch.threadgroups[2] = (uint32_t)shape[0];
    launch.group[0] = args.lines * parts;
    launch.group[1] = launch.group[2] = 1;
    igo_dispatch(call, &launch);
}

static bool choose(struct igo_call *call, const ingot_rope_desc *desc) {
    struct igo_class class_text = {0};
    igo_class_word(&class_text, desc->interleaved ? "interleaved" : "half");
    igo_class_size(&class_text, "n", (uint64_t)igo_count(desc->x), 1u << 24);
    return igo_policy(call, desc->x->type, &class_text);
}

static ingot_status rope(ingot_ops *ops, ingot_stream *stream, int operation,
                         const ingot_rope_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_rope, &operations[operation], desc);
    if (call.failed || !igo_tensor(&call, "x", desc->x, IGO_FLOATS, 4, 4) ||
        !igo_tensor(&call, "out", desc->out, IGO_FLOATS, 4, 4)) {
        return igo_end(&call);
    }
    int64_t dims = desc->dims ? desc->dims : desc->x->shape[3];
    if (!check(&call, desc, dims) || igo_count(desc->x) == 0 || !choose(&call, desc)) {
        return igo_end(&call);
    }

    const ingot_tensor *x = desc->x;
    struct rope_args args = {.offset = desc->offset,
                             .pairs = (uint32_t)(dims / 2),
                             .position_size = position_size(desc),
                             .sign = operation == ROPE_BACKWARD ? -1 : 1};
    bool in_place = ingot_buffer_address(x->buffer) + x->offset ==
                    ingot_buffer_address(desc->out->buffer) + desc->out->offset;
    IGO_REQUIRE(&call, x->shape[3] - dims <= UINT32_MAX, "rows of %lld elements are too long",
                (long long)x->shape[3]);
    args.rest = in_place ? 0 : (uint32_t)(x->shape[3] - dims);

    uint64_t frequencies[ROPE_MAX_PAIRS] = {0};
    uint64_t index_strides[2];
    ingot_buffer *table = NULL;
    position_strides(desc, index_strides);
    bool wide = can_be_wide(&call, desc, dims);
    if (desc->cos) {
        args.by_position = true;
        args.table_rows = (uint64_t)desc->cos->shape[0];
        args.cos_stride = (uint64_t)desc->cos->strides[0];
        args.sin_stride = (uint64_t)desc->sin->strides[0];
    } else {
        rope_frequencies(desc->base != 0 ? desc->base : 10000, desc->scale != 0 ? desc->scale : 1,
                         args.pairs, frequencies);
        if (igo_knob(&call, KNOB_TABLE) && args.pairs && !wide) {
            bool by_batch = desc->positions && desc->positions->rank == 2;
            args.table_rows = (uint64_t)(by_batch ? x->shape[0] * x->shape[2] : x->shape[2]);
            args.cos_stride = args.sin_stride = args.pairs;
            index_strides[0] = by_batch ? (uint64_t)x->shape[2] : 0;
            index_strides[1] = 1;
            table = make_table(&call, desc, frequencies, args.pairs, args.table_rows);
        }
    }
    order_rows(&args, desc, index_strides);
    if (wide && can_be_lines(desc)) {
        launch_lines(&call, desc, &args);
    } else if (wide) {
        launch_wide(&call, desc, &args, frequencies);
    } else {
        launch_rows(&call, desc, &args, frequencies, table);
    }
    igo_scratch_release(&call, table);
    return igo_end(&call);
}

ingot_status ingot_op_rope(ingot_ops *ops, ingot_stream *stream, const ingot_rope_desc *desc) {
    return rope(ops, stream, ROPE, desc);
}

ingot_status ingot_op_rope_backward(ingot_ops *ops, ingot_stream *stream,
                                    const ingot_rope_desc *desc) {
    return rope(ops, stream, ROPE_BACKWARD, desc);
}
