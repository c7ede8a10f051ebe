/* quantised_matvec on the host: up to 8 vectors per launch, x turned around first where that pays.
 */
#include "quantise/quantise.h"
#include "quantised_matvec/quantised_matvec_args.h"

enum { KNOB_PREPARE, KNOB_SIMD, KNOB_ROWS, KNOB_TILES, KNOB_FILL, KNOB_BLOCKS, KNOB_BLOCKS_FILL };
static const ingot_ops_knob knobs[] = {
    [KNOB_PREPARE] = {.name = "prepare",
                      .help =
                          "1: turn x around in a launch of its own, so that lanes read neighbours",
                      .fallback = 0,
                      .minimum = 0,
                      .maximum = 1},
    [KNOB_SIMD] = {.name = "simd",
                   .help = "SIMD-groups per threadgroup",
                   .fallback = 4,
                   .minimum = 1,
                   .maximum = 32,
                   .power_of_two = true},
    [KNOB_ROWS] = {.name = "rows",
                   .help = "rows of the weights that a SIMD-group takes together",
                   .fallback = 1,
                   .minimum = 1,
                   .maximum = 4,
                   .power_of_two = true},
    [KNOB_TILES] = {.name = "tiles",
                    .help = "1: by simdgroup_matrix where types, groups and alignment allow it",
                    .fallback = 1,
                    .minimum = 0,
                    .maximum = 1},
    [KNOB_FILL] = {.name = "fill",
                   .help = "threadgroups to a compute unit, of one vector by simdgroup_matrix",
                   .fallback = 2,
                   .minimum = 1,
                   .maximum = 64},
    [KNOB_BLOCKS] = {.name = "blocks",
                     .help = "1: by kernels/quantise/quantise_rows.h where types and alignment "
                             "allow it, but for few vectors that `tiles` is for",
                     .fallback = 0,
                     .minimum = 0,
                     .maximum = 1},
    [KNOB_BLOCKS_FILL] = {.name = "blocks_fill",
                          .help = "threadgroups that there should be then: with fewer, k is split",
                          .fallback = 1,
                          .minimum = 1,
                          .maximum = 65536},
};

static const struct ingot_ops_info operations[] = {
    {.name = "quantised_matvec",
     .family = "quantised",
     .summary = "quantised weights times one or a few vectors",
     .limits = "k and n below 2^31; weights dense; rows are multiples of the group",
     .variants = "type, scales' type, bits, biases, vectors together, rows together, bias",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_quantised_matvec = {
    .name = "quantised_matvec", .operations = operations, .operation_count = 1};

enum { MOST_VECTORS = 8, LINE_WORDS = 32 };

struct plan {
    const ingot_quantised_matvec_desc *desc;
    int64_t vectors, n, k;
    struct quantised_matvec_args args;
    ingot_buffer *turned, *starts; /* of one launch's vectors; NULL: direct */
    ingot_tensor blank;            /* in the place of tensors that have no elements */
};

static bool check(struct igo_call *call, const ingot_quantised_matvec_desc *d, struct plan *plan) {
    igo_tensor(call, "x", d->x, IGO_FLOATS, 1, 2);
    igo_tensor(call, "out", d->out, IGO_FLOATS, 1, 2);
    if (call->failed) {
        return false;
    }
    plan->desc = d;
    plan->k = d->x->shape[d->x->rank - 1];
    plan->n = d->out->shape[d->out->rank - 1];
    plan->vectors = igo_rows(d->x);
    igo_same_type(call, "out", d->out, "x", d->x);
    IGO_REQUIRE(call, d->x->rank == d->out->rank, "x has %u dimensions, but out has %u", d->x->rank,
                d->out->rank);
    if (d->out->rank == 2) {
        igo_extent(call, "out", d->out, 0, plan->vectors, "vectors of x");
    }
    igo_dense_tail(call, "x", d->x, 1);
    igo_dense_tail(call, "out", d->out, 1);
    IGO_REQUIRE(call, plan->n < INT32_MAX && plan->k < INT32_MAX,
                "the weights are %lld by %lld; each must be below 2^31", (long long)plan->n,
                (long long)plan->k);
    igo_quantised(call, "weights.", &d->weights, plan->n, plan->k);
    if (d->bias && igo_tensor(call, "bias", d->bias, IGO_FLOATS, 1, 1)) {
        igo_same_type(call, "bias", d->bias, "x", d->x);
        igo_extent(call, "bias", d->bias, 0, plan->n, "rows of the weights");
        igo_dense(call, "bias", d->bias);
    }
    igo_no_overlap(call, "out", d->out, "x", d->x, false);
    igo_no_overlap(call, "out", d->out, "weights.packed", d->weights.packed, false);
    igo_no_overlap(call, "out", d->out, "weights.scales", d->weights.scales, false);
    igo_no_overlap(call, "out", d->out, "bias", d->bias, false);
    const ingot_scalar_type scales = call->failed ? INGOT_SCALAR_F32 : d->weights.scales->type;
    return IGO_REQUIRE(call, scales == d->x->type || scales == INGOT_SCALAR_F32,
                       "weights.scales have type %s; they may be f32 or x's own %s",
                       igo_type_name(scales), igo_type_name(d->x->type));
}

/* Of a row of the weights; the last may not be whole. */
static uint32_t lines_of(const struct plan *plan) {
    const int64_t line = LINE_WORDS * 32 / plan->desc->weights.bits;
    return (uint32_t)((plan->k + line - 1) / line);
}

/* Vectors of length 0 leave only the bias: weights without elements have no memory to bind. */
static const ingot_tensor *bound(const struct plan *plan, const ingot_tensor *t) {
    return plan->k ? t : &plan->blank;
}

static void turn_around(struct igo_call *call, struct plan *plan, const ingot_tensor *x) {
    struct igo_launch launch = {.group = {32, 1, 1}, .whole_simdgroups = true};
    igo_launch_kernel(&launch, "prepare_%s", igo_type_name(x->type));
    igo_launch_constant_u32(&launch, "bits", plan->desc->weights.bits);
    igo_launch_tensor(&launch, x, NULL);
    igo_launch_buffer(&launch, plan->turned, 0);
    igo_launch_buffer(&launch, plan->starts, 0);
    igo_launch_bytes(&launch, &plan->args, sizeof plan->args);
    launch.threadgroups[0] = lines_of(plan);
    launch.threadgroups[1] = plan->args.vectors;
    igo_dispatch(call, &launch);
}

/* quantised_matvec_tiles.h: rows and threads of a threadgroup, and what it wants. */
enum { TILED_ROWS = 32, TILED_THREADS = 256 };

static bool is_tiled(const struct igo_call *call, const struct plan *plan) {
    const ingot_quantised_matvec_desc *d = plan->desc;
    return igo_knob(call, KNOB_TILES) && d->weights.bits == 4 && d->weights.group == 128 &&
           d->x->type != INGOT_SCALAR_F32 && plan->k && igo_aligned(d->x, 16) &&
           igo_aligned(d->weights.packed, 16);
}

/* quantised_matvec_single.h: SIMD-groups of a threadgroup, rows that one has under way, columns of
 * a piece. */
enum { SINGLE_SHIFT = 3, SINGLE_ROWS = 8, SINGLE_COLUMNS = 1024 };

static bool is_single(const struct igo_call *call, const struct plan *plan) {
    return is_tiled(call, plan) && plan->args.vectors == 1 && plan->k >= SINGLE_COLUMNS &&
           plan->n >= SINGLE_ROWS;
}

/* Rows of a threadgroup, so that all of them run at once, or as many at a time as do, and
 * SIMD-groups that share a row: as few as possible are to be left over when the pieces of a row
 * have been handed out. */
static void share_out(const struct igo_call *call, struct plan *plan) {
    const int64_t pieces = (plan->k + SINGLE_COLUMNS - 1) / SINGLE_COLUMNS;
    const int64_t slots = (int64_t)igo_knob(call, KNOB_FILL) * igo_device_info(call)->compute_units;
    const int64_t rounds = (plan->n + slots * QUANTISED_BLOCK - 1) / (slots * QUANTISED_BLOCK);
    const int64_t wanted = (plan->n + slots * rounds - 1) / (slots * rounds);
    int64_t least = INT64_MAX;
    for (uint32_t shift = SINGLE_SHIFT + 1; shift-- > 0;) {
        const int64_t step = SINGLE_ROWS << SINGLE_SHIFT >> shift;
        const int64_t block = (wanted + step - 1) / step * step;
        const int64_t work = ((pieces - 1) >> shift << shift) + (1 << shift);
        if (block <= plan->n && block * work < least) {
            least = block * work;
            plan->args.block = (uint32_t)block;
            plan->args.across_shift = shift;
        }
    }
}

static void multiply(struct igo_call *call, struct plan *plan, const ingot_tensor *x,
                     const ingot_tensor *out, uint32_t room) {
    const ingot_quantised_matvec_desc *d = plan->desc;
    const bool tiled = is_tiled(call, plan), single = is_single(call, plan);
    if (single) {
        share_out(call, plan);
    }
    const uint32_t simd = igo_knob(call, KNOB_SIMD), rows = igo_knob(call, KNOB_ROWS);
    const uint32_t together = single ? plan->args.block : tiled ? TILED_ROWS : simd * rows;
    struct igo_launch launch = {.group = {tiled ? TILED_THREADS : 32 * simd, 1, 1},
                                .whole_simdgroups = true};
    igo_launch_kernel(&launch, "quantised_matvec%s_%s_%s",
                      single         ? "_single"
                      : tiled        ? "_tiles"
                      : plan->turned ? ""
                                     : "_direct",
                      igo_type_name(x->type), igo_type_name(d->weights.scales->type));
    igo_quantised_constants(&launch, &d->weights);
    igo_launch_constant_u32(&launch, "vectors", tiled && !single ? 8 : room);
    if (!tiled) {
        igo_launch_constant_u32(&launch, "rows_at_once", rows);
    }
    if (plan->turned) {
        igo_launch_buffer(&launch, plan->turned, 0);
        igo_launch_buffer(&launch, plan->starts, 0);
    } else {
        igo_launch_tensor(&launch, bound(plan, x), NULL);
    }
    igo_launch_tensor(&launch, bound(plan, d->weights.packed), NULL);
    igo_launch_tensor(&launch, bound(plan, d->weights.scales), NULL);
    igo_launch_tensor(&launch, bound(plan, d->weights.biases), bound(plan, d->weights.scales));
    igo_launch_tensor(&launch, d->bias, out);
    igo_launch_tensor(&launch, out, NULL);
    igo_launch_bytes(&launch, &plan->args, sizeof plan->args);
    launch.threadgroups[0] = (uint32_t)((plan->n + together - 1) / together);
    igo_dispatch(call, &launch);
}

static ingot_tensor as_matrix(const ingot_tensor *t) {
    ingot_tensor matrix = *t;
    if (t->rank == 1) {
        matrix.rank = 2;
        matrix.shape[0] = 1;
        matrix.shape[1] = matrix.strides[0] = t->shape[0];
        matrix.strides[1] = 1;
    }
    return matrix;
}

static bool multiply_blocks(struct igo_call *call, struct plan *plan) {
    const ingot_quantised_matvec_desc *d = plan->desc;
    const struct igo_quantised_product product = {.x = as_matrix(d->x),
                                                  .out = as_matrix(d->out),
                                                  .weights = &d->weights,
                                                  .bias = d->bias,
                                                  .m = plan->vectors,
                                                  .n = plan->n,
                                                  .k = plan->k};
    enum { SHORT = 4096 }; /* columns, up to which a single vector goes without */
    const bool other = (plan->vectors <= MOST_VECTORS && is_tiled(call, plan)) ||
                       (plan->vectors == 1 && plan->k < SHORT);
    return !call->failed && igo_knob(call, KNOB_BLOCKS) && !other &&
           igo_quantised_rows(call, &product, igo_knob(call, KNOB_BLOCKS_FILL));
}

/* The row of x and of out that a launch starts with. */
static ingot_tensor from_row(const ingot_tensor *t, int64_t row, size_t element) {
    ingot_tensor view = *t;
    if (t->rank == 2) {
        view.offset += (uint64_t)(row * t->strides[0]) * element;
    }
    return view;
}

static void run_all(struct igo_call *call, struct plan *plan) {
    const ingot_quantised_matvec_desc *d = plan->desc;
    const size_t element = d->x->type == INGOT_SCALAR_F32 ? 4 : 2;
    for (int64_t row = 0; row < plan->vectors && !call->failed; row += MOST_VECTORS) {
        int64_t left = plan->vectors - row;
        plan->args.vectors = (uint32_t)(left < MOST_VECTORS ? left : MOST_VECTORS);
        uint32_t room = 1;
        while (room < plan->args.vectors) {
            room *= 2;
        }
        ingot_tensor x = from_row(d->x, row, element), out = from_row(d->out, row, element);
        if (plan->turned && plan->k) {
            turn_around(call, plan, &x);
        }
        multiply(call, plan, &x, &out, room);
    }
}

ingot_status ingot_op_quantised_matvec(ingot_ops *ops, ingot_stream *stream,
                                       const ingot_quantised_matvec_desc *desc) {
    struct igo_call call;
    struct plan plan = {0};
    igo_begin(&call, ops, stream, &igo_library_quantised_matvec, &operations[0], desc);
    if (call.failed || !check(&call, desc, &plan) || !igo_count(desc->out)) {
        return igo_end(&call);
    }
    struct igo_class words = {0};
    igo_class_size(&words, "v", (uint64_t)plan.vectors, MOST_VECTORS);
    igo_class_size(&words, "k", (uint64_t)plan.k, 1u << 16);
    igo_policy(&call, desc->x->type, &words);
    plan.args = (struct quantised_matvec_args){
        .x_stride = desc->x->rank == 2 ? (uint64_t)desc->x->strides[0] : 0,
        .out_stride = desc->out->rank == 2 ? (uint64_t)desc->out->strides[0] : 0,
        .rows = (uint32_t)plan.n,
        .columns = (uint32_t)plan.k,
        .has_bias = desc->bias != NULL,
        .sixteens = desc->x->type == INGOT_SCALAR_F16 ? 0x4c004c00u : 0x41804180u,
        .group_shift = desc->weights.group == 32   ? 0
                       : desc->weights.group == 64 ? 1
                                                   : 2,
    };
    if (multiply_blocks(&call, &plan)) {
        return igo_end(&call);
    }
    if (!call.failed && igo_knob(&call, KNOB_PREPARE) && !is_tiled(&call, &plan)) {
        const uint64_t lines = plan.k ? lines_of(&plan) : 1, per_word = 32 / desc->weights.bits;
        plan.starts = igo_scratch(&call, lines * MOST_VECTORS * LINE_WORDS * 4);
        plan.turned = igo_scratch(&call, lines * MOST_VECTORS * LINE_WORDS * 4 * per_word);
    }
    if (!plan.k) {
        plan.blank = igo_scratch_tensor(&call, INGOT_SCALAR_F32, 1, &(int64_t){64});
    }
    run_all(&call, &plan);
    igo_scratch_release(&call, plan.blank.buffer);
    igo_scratch_release(&call, plan.turned);
    igo_scratch_release(&call, plan.starts);
    return igo_end(&call);
}
