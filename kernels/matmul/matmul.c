/*
 * matmul on the host: the operands as rows in memory, which kernel, how many parts of k.
 *
 * A product with one column is made as one with one row, of the transposes; a batch that shares b
 * and lies in one piece is one tall matrix.
 */
#include "matmul/matmul_plan.h"

static const ingot_ops_knob knobs[] = {
    [KNOB_TILE] =
        {.name = "tile",
         .help =
             "what a threadgroup makes: 1 = 64x64; 2 = 48x96, 128x48 or 192x16, by the "
             "number of columns; 3 = 128x128, where alignment and sizes allow it, else "
             "64x64; 4 = by a model of the device: few rows, operands that lie anywhere, parts "
             "of k, 256x128 for half and bfloat; 5 = with four SIMD-groups at once, else as 4; "
             "6 = as 2, but by panels of 48 columns where the code level has that: f32, half, and "
             "bfloat two of k at a time; 7 = as 6, but bfloat and half by matrix units; "
             "8 = as 2, but bfloat by instructions for matrices",
         .fallback = 1,
         .minimum = 1,
         .maximum = 8},
    [KNOB_FEW] = {.name = "few",
                  .help = "up to this many rows, b is read straight from memory, four rows of a at "
                          "a time; 0 = never",
                  .fallback = 4,
                  .minimum = 0,
                  .maximum = 64},
    [KNOB_TURN] = {.name = "turn",
                   .help = "up to this many rows, with b transposed, the transposed result is made",
                   .fallback = 0,
                   .minimum = 0,
                   .maximum = 4096},
    [KNOB_PACK] = {.name = "pack",
                   .help = "from this many rows on, the operands are laid out anew; 0 = never",
                   .fallback = 0,
                   .minimum = 0,
                   .maximum = 1u << 20},
    [KNOB_SIMD] = {.name = "simd",
                   .help = "SIMD-groups per threadgroup for few rows",
                   .fallback = 4,
                   .minimum = 1,
                   .maximum = 32,
                   .power_of_two = true},
    [KNOB_FILL] = {.name = "fill",
                   .help = "threadgroups that there should be: with fewer, k is split into parts",
                   .fallback = 128,
                   .minimum = 1,
                   .maximum = 65536},
    [KNOB_DEPTH] = {.name = "depth",
                    .help = "what a part has of k at least",
                    .fallback = 1024,
                    .minimum = 32,
                    .maximum = 1u << 20},
    [KNOB_WIDE] = {.name = "wide",
                   .help = "for few rows: 1 = a lane takes eight neighbours where rows are "
                           "aligned; 2 = as CPUs want it: with b not transposed, a SIMD-group "
                           "takes 1024 columns, some of k at a time; with b transposed, two rows "
                           "have a kernel of their own",
                   .fallback = 1,
                   .minimum = 0,
                   .maximum = 2},
};

static const struct ingot_ops_info operations[] = {
    {.name = "matmul",
     .family = "matrix",
     .summary = "out = epilogue(a b + bias), batched, either operand transposed",
     .limits = "m, n and k below 2^31; elements of a row (or of a column) are neighbours",
     .variants = "type; tiles by the size, or the kernel for few rows; parts of k",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_matmul = {
    .name = "matmul", .operations = operations, .operation_count = 1};

static const struct tile_shape {
    uint32_t rows, columns, simds;
} square = {64, 64, 4}, by_columns[] = {{192, 16, 8}, {128, 48, 4}, {48, 96, 2}};

/* What the kernels for few rows take at once. */
enum { FEW_ROWS = 4, FEW_COLUMNS = 128, SINGLE_COLUMNS = 256, FEW_DOTS = 4 };

/* matmul_spans.h: columns of a SIMD-group, and of one that takes eight rows. */
enum { SPAN_COLUMNS = 1024, SPAN_ROWS = 8, SPAN_EIGHT_COLUMNS = 512, SPAN_MOST_ROWS = 16 };

/* ---- checks ---- */

/* All dimensions before the last two with one stride (0 for a batch of 1). */
static bool batch_stride(const ingot_tensor *t, int64_t *count, uint64_t *stride) {
    *count = 1;
    *stride = 0;
    for (int d = (int)t->rank - 3; d >= 0; d--) {
        if (t->shape[d] == 1) {
            continue;
        }
        if (*count > 1 && t->strides[d] != (int64_t)(*stride * (uint64_t)*count)) {
            return false;
        }
        if (*count == 1) {
            *stride = (uint64_t)t->strides[d];
        }
        *count *= t->shape[d];
    }
    return true;
}

/* Finds rows of neighbours in the last two dimensions, or in their transpose. */
static void find_rows(struct igo_call *call, const char *name, const ingot_tensor *t,
                      bool transposed, bool may_turn, struct matmul_operand *operand) {
    const int64_t rows = t->shape[t->rank - 2], columns = t->shape[t->rank - 1];
    const int64_t down = t->strides[t->rank - 2], along = t->strides[t->rank - 1];
    int64_t count;
    *operand = (struct matmul_operand){.tensor = t, .transposed = transposed};
    if (call->failed) {
        return;
    }
    if (!batch_stride(t, &count, &operand->batch)) {
        igo_fail(call, INGOT_INVALID_ARGUMENT,
                 "the batch dimensions of %s cannot be walked with one stride", name);
    } else if (along == 1 || columns <= 1) {
        operand->stride = rows > 1 ? (uint64_t)down : (uint64_t)columns;
        /* a column of single elements, `down` apart, is a row of the transpose when they touch */
        if (columns == 1 && rows > 1 && down == 1 && may_turn) {
            operand->stride = (uint64_t)rows;
            operand->transposed = !transposed;
        }
    } else if (may_turn && (down == 1 || rows <= 1)) {
        operand->stride = (uint64_t)along;
        operand->transposed = !transposed;
    } else {
        igo_fail(call, INGOT_INVALID_ARGUMENT,
                 "%s has strides %lld and %lld in its last two dimensions; %s must be 1", name,
                 (long long)down, (long long)along, may_turn ? "one of them" : "the last");
    }
}

/* The operand's batch is out's, or nothing. */
static void check_batch(struct igo_call *call, const char *name, const ingot_tensor *t,
                        const ingot_tensor *out) {
    char shape[160], other[160];
    bool single = true, same = t->rank == out->rank;
    for (uint32_t d = 0; d + 2 < t->rank; d++) {
        single &= t->shape[d] == 1;
        same = same && t->shape[d] == out->shape[d];
    }
    IGO_REQUIRE(call, single || same,
                "%s has shape %s, whose batch is neither that of out (%s) nor 1", name,
                igo_shape_text(t, shape), igo_shape_text(out, other));
}

static void check_sizes(struct igo_call *call, const ingot_matmul_desc *d,
                        struct matmul_plan *plan) {
    const ingot_tensor *a = d->a, *b = d->b, *out = d->out;
    const int64_t m = out->shape[out->rank - 2], n = out->shape[out->rank - 1];
    const int64_t k = a->shape[a->rank - (d->transpose_a ? 2 : 1)];
    igo_extent(call, "a", a, d->transpose_a ? -1 : -2, m, "the rows of out");
    igo_extent(call, "b", b, d->transpose_b ? -2 : -1, n, "the columns of out");
    igo_extent(call, "b", b, d->transpose_b ? -1 : -2, k, "what a is summed over");
    check_batch(call, "a", a, out);
    check_batch(call, "b", b, out);
    int64_t batch = 1;
    uint64_t ignored;
    if (!batch_stride(out, &batch, &ignored)) {
        batch = 1; /* refused later, by find_rows */
    }
    IGO_REQUIRE(call, m <= INT32_MAX && n <= INT32_MAX && k <= INT32_MAX && batch <= INT32_MAX,
                "m = %lld, n = %lld, k = %lld, batch %lld: each must be below 2^31", (long long)m,
                (long long)n, (long long)k, (long long)batch);
    plan->args = (struct matmul_args){.m = (uint32_t)m,
                                      .n = (uint32_t)n,
                                      .k = (uint32_t)k,
                                      .batch = (uint32_t)batch,
                                      .epilogue = (uint32_t)d->epilogue,
                                      .has_bias = d->bias != NULL,
                                      .bias_step = 1};
}

/* Elements of the result must not share memory. */
static void check_apart(struct igo_call *call, const struct matmul_plan *plan) {
    const struct matmul_args *args = &plan->args;
    const uint64_t row = args->n, matrix = args->m ? (args->m - 1) * plan->out.stride + row : 0;
    IGO_REQUIRE(call, args->m <= 1 || plan->out.stride >= row,
                "the rows of out are %lld elements apart, but have %u each",
                (long long)plan->out.stride, args->n);
    IGO_REQUIRE(call, args->batch <= 1 || plan->out.batch >= matrix,
                "the matrices of out are %lld elements apart, but take %lld each",
                (long long)plan->out.batch, (long long)matrix);
}

static bool check(struct igo_call *call, const ingot_matmul_desc *d, struct matmul_plan *plan) {
    igo_tensor(call, "a", d->a, IGO_FLOATS, 2, INGOT_MAX_RANK);
    igo_tensor(call, "b", d->b, IGO_FLOATS, 2, INGOT_MAX_RANK);
    igo_tensor(call, "out", d->out, IGO_FLOATS, 2, INGOT_MAX_RANK);
    if (call->failed) {
        return false;
    }
    igo_same_type(call, "b", d->b, "a", d->a);
    igo_same_type(call, "out", d->out, "a", d->a);
    IGO_REQUIRE(call, d->epilogue >= INGOT_EPILOGUE_NONE && d->epilogue <= INGOT_EPILOGUE_GELU_TANH,
                "epilogue is %d, which is none of ingot_epilogue", (int)d->epilogue);
    check_sizes(call, d, plan);
    if (d->bias && igo_tensor(call, "bias", d->bias, IGO_FLOATS, 1, 1)) {
        igo_same_type(call, "bias", d->bias, "a", d->a);
        igo_extent(call, "bias", d->bias, 0, plan->args.n, "the columns of out");
        igo_dense(call, "bias", d->bias);
        igo_no_overlap(call, "out", d->out, "bias", d->bias, false);
    }
    igo_no_overlap(call, "out", d->out, "a", d->a, false);
    igo_no_overlap(call, "out", d->out, "b", d->b, false);
    find_rows(call, "a", d->a, d->transpose_a, true, &plan->a);
    find_rows(call, "b", d->b, d->transpose_b, true, &plan->b);
    find_rows(call, "out", d->out, false, false, &plan->out);
    check_apart(call, plan);
    plan->bias = d->bias;
    return !call->failed;
}

/* ---- simpler shapes ---- */

/* (a b)' = b' a' */
void igo_matmul_swap_operands(struct matmul_plan *plan) {
    struct matmul_args *args = &plan->args;
    const struct matmul_operand a = plan->a;
    const uint32_t m = args->m;
    plan->a = plan->b;
    plan->b = a;
    plan->a.transposed = !plan->a.transposed;
    plan->b.transposed = !plan->b.transposed;
    args->m = args->n;
    args->n = m;
}

/* One column becomes one row, which is its own transpose in memory. */
static void turn_single_column(struct matmul_plan *plan) {
    if (plan->args.n != 1 || plan->args.m == 1 || plan->out.stride != 1) {
        return;
    }
    igo_matmul_swap_operands(plan);
    plan->out.stride = plan->args.n;
    plan->args.bias_step = 0;
}

/* Whether b is read once for each eight rows, where panels would be the other way. */
bool igo_matmul_has_eights(const struct igo_call *call, const struct matmul_plan *plan) {
    return uses_panels(call) && !plan->b.transposed && plan->args.m > igo_knob(call, KNOB_FEW) &&
           plan->args.m <= SPAN_MOST_ROWS && plan->a.tensor->type == INGOT_SCALAR_BF16;
}

/* Whether b is read straight from memory. With both transposed the elements of a line of a are
 * gathered, which more than one round of rows cannot afford. */
static bool has_few_rows(const struct igo_call *call, const struct matmul_plan *plan) {
    const uint32_t m = plan->args.m;
    const bool gathers = plan->a.transposed && plan->b.transposed;
    if (igo_matmul_has_eights(call, plan)) {
        return true;
    }
    return m <= igo_knob(call, KNOB_FEW) && (m <= FEW_ROWS || !gathers);
}

/* Rows of a transposed b are read as they lie when b stands on the left. */
static void turn_few_rows(struct igo_call *call, struct matmul_plan *plan) {
    const uint32_t m = plan->args.m;
    if (!plan->b.transposed || has_few_rows(call, plan) || m > igo_knob(call, KNOB_TURN) ||
        plan->args.n <= m) {
        return;
    }
    igo_matmul_swap_operands(plan);
    plan->args.out_transposed = 1;
}

static void merge_batch(struct matmul_plan *plan) {
    struct matmul_args *args = &plan->args;
    if (args->batch == 1 || plan->b.batch != 0 || plan->a.transposed ||
        plan->a.batch != args->m * plan->a.stride ||
        plan->out.batch != args->m * plan->out.stride ||
        (uint64_t)args->m * args->batch > INT32_MAX) {
        return;
    }
    args->m *= args->batch;
    args->batch = 1;
}

/* ---- launches ---- */

static const struct tile_shape *tile_for(const struct igo_call *call,
                                         const struct matmul_args *args) {
    if (tile_knob(call) != 2) {
        return &square;
    }
    size_t i = 0;
    while (i + 1 < sizeof by_columns / sizeof *by_columns && args->n > by_columns[i].columns) {
        i++;
    }
    return &by_columns[i];
}

/* Columns that a SIMD-group of matmul_lines takes: of a short k more, since each SIMD-group has to
 * find out first where it is. */
static uint32_t few_lines(const struct matmul_args *args) {
    enum { SHORT = 512, MORE = 32 };
    return args->k < SHORT ? MORE : FEW_DOTS;
}

static void choose_few_rows(const struct igo_call *call, const struct matmul_plan *plan,
                            struct igo_launch *launch) {
    const struct matmul_args *args = &plan->args;
    const bool of_cpus = igo_knob(call, KNOB_WIDE) == 2;
    const bool two = args->m == 2 && plan->b.transposed && of_cpus;
    const bool eight = igo_matmul_has_eights(call, plan);
    const uint32_t rows = args->m == 1 ? 1 : two ? 2 : eight ? SPAN_ROWS : FEW_ROWS;
    const uint32_t simds = igo_knob(call, KNOB_SIMD);
    const bool wide = igo_knob(call, KNOB_WIDE) == 1 && plan->b.transposed && !plan->a.transposed &&
                      args->k && args->k % 8 == 0 && igo_aligned(plan->a.tensor, 16) &&
                      igo_aligned(plan->b.tensor, 16);
    const bool spans = !plan->b.transposed && of_cpus;
    const bool of_lines = plan->b.transposed && of_cpus;
    igo_launch_kernel(launch, "matmul_%s_%u_%s",
                      wide                  ? "dots_wide"
                      : !plan->b.transposed ? (spans ? "spans" : "columns")
                      : of_lines            ? "lines"
                                            : "dots",
                      rows, igo_type_name(plan->a.tensor->type));
    if (spans) {
        launch->threadgroups[0] = blocks(args->n, eight ? SPAN_EIGHT_COLUMNS : SPAN_COLUMNS);
        launch->threadgroups[1] = blocks(args->m, rows);
        launch->group[0] = 32;
        return;
    }
    if (of_lines) {
        launch->threadgroups[0] = blocks(args->n, few_lines(args));
        launch->threadgroups[1] = blocks(args->m, rows);
        launch->group[0] = 32;
        return;
    }
    const uint32_t columns = plan->b.transposed ? FEW_DOTS
                             : rows == 1        ? SINGLE_COLUMNS
                                                : FEW_COLUMNS;
    launch->threadgroups[0] = blocks(args->n, simds * columns);
    launch->threadgroups[1] = blocks(args->m, rows);
    launch->group[0] = 32 * simds;
}

static void choose_kernel(struct igo_call *call, struct matmul_plan *plan,
                          struct igo_launch *launch) {
    const struct matmul_args *args = &plan->args;
    if (plan->units) {
        igo_matmul_launch_units(plan, launch);
        return;
    }
    if (plan->pairs) {
        igo_matmul_launch_pairs(plan, launch);
        return;
    }
    if (plan->panels) {
        igo_matmul_launch_panels(plan, launch);
        return;
    }
    if (plan->shape) {
        igo_matmul_launch_shape(plan, launch);
        return;
    }
    if (has_few_rows(call, plan)) {
        choose_few_rows(call, plan, launch);
        return;
    }
    if (igo_matmul_is_packed(call, args)) {
        igo_matmul_launch_packed(plan, launch);
        return;
    }
    if (igo_matmul_launch_blocks(call, plan, launch)) {
        return;
    }
    const struct tile_shape *shape = tile_for(call, args);
    igo_launch_kernel(launch, "matmul_tiles_%ux%u_%s", shape->rows, shape->columns,
                      igo_type_name(plan->a.tensor->type));
    launch->threadgroups[0] = blocks(args->n, shape->columns);
    launch->threadgroups[1] = blocks(args->m, shape->rows);
    launch->group[0] = 32 * shape->simds;
}

/* Parts of k, so that there is enough to do for all of the device. */
static void split(struct igo_call *call, struct matmul_plan *plan,
                  const struct igo_launch *launch) {
    struct matmul_args *args = &plan->args;
    const uint64_t there =
        (uint64_t)launch->threadgroups[0] * launch->threadgroups[1] * args->batch;
    uint64_t parts = igo_matmul_wanted_groups(call, plan->block_rows) / (there ? there : 1);
    const uint64_t most = args->k / igo_knob(call, KNOB_DEPTH);
    parts = plan->shape ? plan->parts : parts < most ? parts : most;
    parts = parts > 1 ? parts : 1;
    const uint64_t depth = (args->k + parts - 1) / parts;
    args->part_depth =
        parts > 1 ? (uint32_t)((depth + MATMUL_DEPTH - 1) / MATMUL_DEPTH * MATMUL_DEPTH) : args->k;
    args->parts = args->k ? blocks(args->k, args->part_depth) : 1;
}

/* A matrix without elements has no memory; any other is bound in its place and not read. */
static const ingot_tensor *memory_of(const struct matmul_plan *plan,
                                     const struct matmul_operand *operand) {
    return plan->args.k ? operand->tensor : plan->out.tensor;
}

void igo_matmul_multiply(struct igo_call *call, const struct matmul_plan *plan,
                         struct igo_launch *launch, const ingot_tensor *a, const ingot_tensor *b,
                         ingot_buffer *sums) {
    launch->threadgroups[2] = plan->args.batch * plan->args.parts;
    launch->group[1] = launch->group[2] = 1;
    launch->whole_simdgroups = true;
    const ingot_tensor left = igo_matmul_bound(plan, a, &plan->args.a_pieces);
    const ingot_tensor right = igo_matmul_bound(plan, b, &plan->args.b_pieces);
    igo_launch_tensor(launch, &left, NULL);
    igo_launch_tensor(launch, &right, NULL);
    igo_launch_tensor(launch, plan->bias, plan->out.tensor);
    igo_launch_tensor(launch, plan->out.tensor, NULL);
    if (sums) {
        igo_launch_buffer(launch, sums, 0);
    } else {
        igo_launch_tensor(launch, plan->out.tensor, NULL);
    }
    igo_launch_bytes(launch, &plan->args, sizeof plan->args);
    igo_dispatch(call, launch);
}

static void reduce(struct igo_call *call, const struct matmul_plan *plan, ingot_buffer *sums) {
    const struct matmul_args *args = &plan->args;
    const uint64_t eights = (uint64_t)blocks(args->n, 8) * args->m * args->batch;
    const bool by_eights = plan->shape && eights < 1u << 30;
    struct igo_launch launch = {.threads = {args->n, args->m, args->batch}};
    if (by_eights) {
        launch.threads[0] = (uint32_t)eights;
        launch.threads[1] = launch.threads[2] = 1;
    }
    igo_launch_kernel(&launch, "matmul_%s_%s", by_eights ? "gather" : "reduce",
                      igo_type_name(plan->a.tensor->type));
    igo_launch_buffer(&launch, sums, 0);
    igo_launch_tensor(&launch, plan->bias, plan->out.tensor);
    igo_launch_tensor(&launch, plan->out.tensor, NULL);
    igo_launch_bytes(&launch, args, sizeof *args);
    launch.group[0] = by_eights ? 128 : args->n < 256 ? (args->n + 31) / 32 * 32 : 256;
    launch.group[1] = launch.group[2] = 1;
    igo_dispatch(call, &launch);
}

static void set_strides(struct matmul_plan *plan) {
    struct matmul_args *args = &plan->args;
    args->a_stride = plan->a.stride;
    args->b_stride = plan->b.stride;
    args->out_stride = plan->out.stride;
    args->a_batch = plan->a.batch;
    args->b_batch = plan->b.batch;
    args->out_batch = plan->out.batch;
    args->a_transposed = plan->a.transposed;
    args->b_transposed = plan->b.transposed;
}

ingot_status ingot_op_matmul(ingot_ops *ops, ingot_stream *stream, const ingot_matmul_desc *desc) {
    struct igo_call call;
    struct matmul_plan plan = {0};
    igo_begin(&call, ops, stream, &igo_library_matmul, &operations[0], desc);
    if (call.failed || !check(&call, desc, &plan) || !igo_count(desc->out)) {
        return igo_end(&call);
    }
    turn_single_column(&plan);
    merge_batch(&plan);
    struct matmul_args *args = &plan.args;
    struct igo_class words = {0};
    igo_class_size(&words, "m", args->m, 4096);
    igo_class_size(&words, "n", args->n, 4096);
    igo_class_size(&words, "k", args->k, 1u << 16);
    igo_policy(&call, desc->a->type, &words);
    if (call.failed) {
        return igo_end(&call);
    }
    igo_matmul_choose_units(&call, &plan);
    if (!plan.units) {
        igo_matmul_choose_panels(&call, &plan);
    }
    if (!plan.units && !plan.panels) {
        igo_matmul_choose_pairs(&call, &plan);
    }
    igo_matmul_choose_shape(&call, &plan);
    if (!plan.units && !plan.pairs && !plan.panels && !plan.shape) {
        turn_few_rows(&call, &plan);
    }
    ingot_tensor laid_out[2] = {0};
    igo_matmul_lay_out(&call, &plan, laid_out);
    set_strides(&plan);
    struct igo_launch launch = {0};
    choose_kernel(&call, &plan, &launch);
    split(&call, &plan, &launch);
    ingot_buffer *sums = NULL;
    if (args->parts > 1) {
        sums = igo_scratch(&call, 4ull * args->parts * args->batch * args->m * args->n);
    }
    if (plan.units) {
        igo_matmul_multiply_units(&call, &plan, &launch, sums);
    } else if (plan.pairs) {
        igo_matmul_multiply_pairs(&call, &plan, &launch, sums);
    } else if (plan.panels) {
        igo_matmul_multiply_panels(&call, &plan, &launch, sums);
    } else if (!has_few_rows(&call, &plan) && igo_matmul_is_packed(&call, args)) {
        igo_matmul_multiply_packed(&call, &plan, &launch, sums);
    } else {
        igo_matmul_multiply(&call, &plan, &launch, memory_of(&plan, &plan.a),
                            memory_of(&plan, &plan.b), sums);
    }
    if (args->parts > 1) {
        reduce(&call, &plan, sums);
    }
    igo_scratch_release(&call, sums);
    igo_scratch_release(&call, laid_out[0].buffer);
    igo_scratch_release(&call, laid_out[1].buffer);
    return igo_end(&call);
}
