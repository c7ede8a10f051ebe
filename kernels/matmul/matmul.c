/*
 * matmul on the host: the operands as rows in memory, which kernel, how many parts of k.
 *
 * A product with one column is made as one with one row, of the transposes; a batch that shares b
 * and lies in one piece is one tall matrix.
 */
#include "matmul/matmul_args.h"
#include "ops/call.h"

enum { KNOB_TILE, KNOB_FEW, KNOB_TURN, KNOB_PACK, KNOB_SIMD, KNOB_FILL, KNOB_DEPTH, KNOB_WIDE };
static const ingot_ops_knob knobs[] = {
    [KNOB_TILE] =
        {.name = "tile",
         .help = "what a threadgroup makes: 1 = 64x64; 2 = 48x96, 128x48 or 192x16, by the "
                 "number of columns; 3 = 128x128, where alignment and sizes allow it, else "
                 "64x64; 4 = 256x128 for half and bfloat where there are enough of them; 5 = "
                 "128x256 of them, four SIMD-groups at once, else as 4; 6 = as 2, but by panels of "
                 "48 columns where the code level has that: f32, and bfloat two of k at a time",
         .fallback = 1,
         .minimum = 1,
         .maximum = 6},
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
                           "aligned; 2 = with b not transposed, one row, or f32, a SIMD-group "
                           "takes 1024 columns, some of k at a time; with b transposed, two "
                           "rows have a kernel of their own",
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
enum { FEW_ROWS = 4, FEW_COLUMNS = 128, SINGLE_COLUMNS = 256, FEW_DOTS = 4, SPAN_COLUMNS = 1024 };

/* The packed form (matmul.metal): a in rows of 8, b in columns of 48 or 32, k in tiles of 8. */
enum { PACKED_ROWS = 64, PACK_ROWS = 8, PACK_DEPTH = 256 };

/* matmul_pairs.h: the right side in columns of 16; two such at a time are laid out anew. */
enum { PAIRS_ROWS = 64, PAIRS_UNIT = 16 };

/* matmul_panels.h: rows of a block; as many at a time. */
enum { PANELS_ROWS = 96, PANELS_TALL = 8, PANELS_NARROW = 8, PANELS_NARROW_TALL = 16 };

/* matmul_blocks_float.h: 256 threads make as many rows and columns. */
enum { BLOCK_SIZE = MATMUL_BLOCK, FLOAT_DEPTH = 16 };

/* matmul_blocks.h: places for panels of each operand. */
enum { PANELS = 3 };

/* matmul_warpgroups.h */
enum { WARPGROUP_ROWS = 128, WARPGROUP_COLUMNS = 256, WARPGROUP_LINE = 2 * MATMUL_DEPTH };

/* A matrix as it lies in memory: rows of neighbours, `stride` apart. */
struct operand {
    const ingot_tensor *tensor;
    uint64_t stride, batch;
    bool transposed;
};

struct plan {
    struct operand a, b, out;
    const ingot_tensor *bias;
    uint32_t block_rows; /* of matmul_blocks.h, if that is used */
    uint32_t pairs;      /* columns of matmul_pairs.h at a time, if that is used */
    uint32_t panels;     /* the same of matmul_panels.h */
    struct matmul_args args;
};

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
                      bool transposed, bool may_turn, struct operand *operand) {
    const int64_t rows = t->shape[t->rank - 2], columns = t->shape[t->rank - 1];
    const int64_t down = t->strides[t->rank - 2], along = t->strides[t->rank - 1];
    int64_t count;
    *operand = (struct operand){.tensor = t, .transposed = transposed};
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

static void check_sizes(struct igo_call *call, const ingot_matmul_desc *d, struct plan *plan) {
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
static void check_apart(struct igo_call *call, const struct plan *plan) {
    const struct matmul_args *args = &plan->args;
    const uint64_t row = args->n, matrix = args->m ? (args->m - 1) * plan->out.stride + row : 0;
    IGO_REQUIRE(call, args->m <= 1 || plan->out.stride >= row,
                "the rows of out are %lld elements apart, but have %u each",
                (long long)plan->out.stride, args->n);
    IGO_REQUIRE(call, args->batch <= 1 || plan->out.batch >= matrix,
                "the matrices of out are %lld elements apart, but take %lld each",
                (long long)plan->out.batch, (long long)matrix);
}

static bool check(struct igo_call *call, const ingot_matmul_desc *d, struct plan *plan) {
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
static void swap_operands(struct plan *plan) {
    struct matmul_args *args = &plan->args;
    const struct operand a = plan->a;
    const uint32_t m = args->m;
    plan->a = plan->b;
    plan->b = a;
    plan->a.transposed = !plan->a.transposed;
    plan->b.transposed = !plan->b.transposed;
    args->m = args->n;
    args->n = m;
}

/* One column becomes one row, which is its own transpose in memory. */
static void turn_single_column(struct plan *plan) {
    if (plan->args.n != 1 || plan->args.m == 1 || plan->out.stride != 1) {
        return;
    }
    swap_operands(plan);
    plan->out.stride = plan->args.n;
    plan->args.bias_step = 0;
}

/* Whether b is read straight from memory. With both transposed the elements of a line of a are
 * gathered, which more than one round of rows cannot afford. */
static bool has_few_rows(const struct igo_call *call, const struct plan *plan) {
    const uint32_t m = plan->args.m;
    const bool gathers = plan->a.transposed && plan->b.transposed;
    return m <= igo_knob(call, KNOB_FEW) && (m <= FEW_ROWS || !gathers);
}

/* Rows of a transposed b are read as they lie when b stands on the left. */
static void turn_few_rows(struct igo_call *call, struct plan *plan) {
    const uint32_t m = plan->args.m;
    if (!plan->b.transposed || has_few_rows(call, plan) || m > igo_knob(call, KNOB_TURN) ||
        plan->args.n <= m) {
        return;
    }
    swap_operands(plan);
    plan->args.out_transposed = 1;
}

static void merge_batch(struct plan *plan) {
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

enum { TILE_BY_COLUMNS = 2, TILE_PANELS = 6 };

static uint32_t tile_knob(const struct igo_call *call) {
    const uint32_t tile = igo_knob(call, KNOB_TILE);
    return tile == TILE_PANELS ? TILE_BY_COLUMNS : tile;
}

static uint32_t blocks(uint32_t extent, uint32_t size) {
    return extent / size + (extent % size != 0);
}

/* 48 at a time are a little faster, unless many of them are past the end. */
static uint32_t wide_columns(uint32_t n) {
    const uint64_t wide = blocks(n, 48) * 48ull, narrow = blocks(n, 32) * 32ull;
    return wide * 15 > narrow * 16 ? 32 : 48;
}

/* About what a product by pairs takes, over k: the sums, 32 in a cycle, and what is laid out anew.
 */
static double pairs_cost(const struct plan *plan) {
    const struct matmul_args *args = &plan->args;
    const double sums = 8.0 * blocks(args->m, 8) * PAIRS_UNIT * blocks(args->n, PAIRS_UNIT);
    return sums + (plan->a.transposed ? 6.0 * args->m : 0) +
           (plan->b.transposed ? 6.0 : 3.0) * args->n;
}

/* Large products of bfloat by pairs, as they are or as the transposed result. */
static void choose_pairs(struct igo_call *call, struct plan *plan) {
    struct matmul_args *args = &plan->args;
    if (igo_knob(call, KNOB_TILE) != TILE_PANELS || args->m <= PAIRS_UNIT ||
        args->n <= PAIRS_UNIT || args->k < 16 || plan->a.tensor->type != INGOT_SCALAR_BF16) {
        return;
    }
    struct plan turned = *plan;
    swap_operands(&turned);
    turned.args.out_transposed = 1;
    const bool turns = pairs_cost(&turned) < pairs_cost(plan);
    const uint32_t columns = wide_columns(turns ? turned.args.n : args->n);
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "matmul_pairs_%u_bf16", columns);
    if (!igo_has_kernel(call, &launch)) { /* archives may be without code of that level */
        return;
    }
    if (turns) {
        *plan = turned;
    }
    plan->pairs = columns;
}

static uint32_t panel_columns(uint32_t n) {
    return n <= PANELS_NARROW ? PANELS_NARROW : n <= 16 ? 16 : wide_columns(n);
}

/* A left side that lies [k][m], and is used for several panels. */
static bool packs_left(const struct plan *plan) {
    return plan->a.transposed && plan->args.n >= 192 && plan->args.k >= 32;
}

/* About the cycles that a product by panels takes per k: the sums, and what goes through
 * threadgroup memory. */
static double panels_cost(const struct plan *plan) {
    const struct matmul_args *args = &plan->args;
    const uint32_t width = panel_columns(args->n);
    const uint32_t tall = width == PANELS_NARROW ? PANELS_NARROW_TALL : PANELS_TALL;
    const double columns = blocks(args->n, width), rows = (double)blocks(args->m, tall) * tall;
    const double left = packs_left(plan)     ? 2 + 0.12 * columns
                        : plan->a.transposed ? 0.6 * columns
                                             : 0.12 * columns;
    const double products = plan->a.tensor->type == INGOT_SCALAR_F32 ? 16 : 32; /* in a cycle */
    return columns * width * rows / products + left * args->m +
           (double)args->n * blocks(args->m, PANELS_ROWS) * (plan->b.transposed ? 0.6 : 0.2);
}

/* Products of f32 by panels, and those of bfloat that are one block high: as they are, or as the
 * transposed result. */
static void choose_panels(struct igo_call *call, struct plan *plan) {
    struct matmul_args *args = &plan->args;
    const ingot_scalar_type type = plan->a.tensor->type;
    const bool enough =
        args->m > igo_knob(call, KNOB_FEW) ||
        (args->m > 1 && plan->b.transposed && (plan->a.transposed || args->k <= 64));
    /* An operand that has to be turned is turned for each block; then there should be few. */
    const uint32_t most = plan->b.transposed && !plan->a.transposed ? 40 : PANELS_ROWS;
    const bool one_block = args->m <= most || args->n <= most;
    if (igo_knob(call, KNOB_TILE) != TILE_PANELS || !enough || !args->k ||
        !(type == INGOT_SCALAR_F32 || (type == INGOT_SCALAR_BF16 && one_block))) {
        return;
    }
    struct plan turned = *plan;
    swap_operands(&turned);
    turned.args.out_transposed = 1;
    const bool turns = panels_cost(&turned) < panels_cost(plan);
    const uint32_t columns = panel_columns(turns ? turned.args.n : args->n);
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "matmul_panels_%u_%s", columns, igo_type_name(type));
    if (!igo_has_kernel(call, &launch)) { /* archives may be without code of that level */
        return;
    }
    if (turns) {
        *plan = turned;
    }
    plan->panels = columns;
}

/* Worth it where what is packed is used many times. */
static bool is_packed(const struct igo_call *call, const struct matmul_args *args) {
    const uint32_t least = igo_knob(call, KNOB_PACK);
    return least && args->m >= least && args->n >= least && args->k >= 64;
}

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

/* Bytes of one of the panels of so many rows or columns: elements of 16 bits. */
static uint32_t panel_bytes(uint32_t count) {
    return 2 * count * MATMUL_LINE;
}

/* Threadgroups that fill the device: those with blocks of 256 rows have a multiprocessor each. */
static uint64_t wanted_groups(const struct igo_call *call, uint32_t block_rows) {
    return igo_knob(call, KNOB_FILL) / (block_rows > BLOCK_SIZE ? 2 : 1);
}

/* Rows of the blocks of kernels/matmul/matmul_blocks.h, or of matmul_blocks_float.h: if operands,
 * sizes and the device are what they want; else 0. */
static uint32_t block_rows(const struct igo_call *call, const struct plan *plan) {
    const struct matmul_args *args = &plan->args;
    const bool is_float = plan->a.tensor->type == INGOT_SCALAR_F32;
    const uint32_t bytes = 16, piece = 8;
    if (tile_knob(call) < 3 || !args->k || args->k % (is_float ? FLOAT_DEPTH : piece) ||
        args->n % piece || (plan->a.transposed && args->m % piece) ||
        !igo_aligned(plan->a.tensor, bytes) || !igo_aligned(plan->b.tensor, bytes)) {
        return 0;
    }
    if (is_float) {
        return BLOCK_SIZE;
    }
    if (args->out_transposed || !igo_aligned(plan->out.tensor, bytes)) {
        return 0;
    }
    const uint64_t tall =
        (uint64_t)blocks(args->m, 2 * BLOCK_SIZE) * blocks(args->n, BLOCK_SIZE) * args->batch;
    uint32_t rows = tile_knob(call) >= 4 && tall >= wanted_groups(call, 2 * BLOCK_SIZE)
                        ? 2 * BLOCK_SIZE
                        : BLOCK_SIZE;
    while (rows >= BLOCK_SIZE / 2 &&
           PANELS * panel_bytes(rows + BLOCK_SIZE) > igo_threadgroup_memory(call)) {
        rows /= 2;
    }
    return rows >= BLOCK_SIZE / 2 ? rows : 0; /* 64: cards with 100 KiB */
}

/* Where there are blocks of 256 by 128, are those of 128 by 256 as many, and better? */
static bool wants_warpgroups(const struct igo_call *call, const struct plan *plan) {
    const struct matmul_args *args = &plan->args;
    const uint64_t there = (uint64_t)blocks(args->m, WARPGROUP_ROWS) *
                           blocks(args->n, WARPGROUP_COLUMNS) * args->batch;
    return tile_knob(call) >= 5 && plan->block_rows == 2 * BLOCK_SIZE &&
           plan->a.tensor->type != INGOT_SCALAR_F32 &&
           there >= wanted_groups(call, plan->block_rows) &&
           MATMUL_WARPGROUP_PLACES * (WARPGROUP_ROWS + WARPGROUP_COLUMNS) * WARPGROUP_LINE <=
               igo_threadgroup_memory(call);
}

static void choose_warpgroups(const struct plan *plan, struct igo_launch *launch) {
    igo_launch_kernel(launch, "matmul_warpgroups_%ux%u_%s", WARPGROUP_ROWS, WARPGROUP_COLUMNS,
                      igo_type_name(plan->a.tensor->type));
    igo_launch_constant_bool(launch, "block_b_transposed", plan->b.transposed);
    igo_launch_constant_bool(launch, "block_a_transposed", plan->a.transposed);
    launch->threadgroups[0] = blocks(plan->args.n, WARPGROUP_COLUMNS);
    launch->threadgroups[1] = blocks(plan->args.m, WARPGROUP_ROWS);
    launch->group[0] = MATMUL_WARPGROUP_THREADS;
    for (int i = 0; i < MATMUL_WARPGROUP_PLACES; i++) {
        launch->threadgroup_lengths[i] = WARPGROUP_ROWS * WARPGROUP_LINE;
        launch->threadgroup_lengths[MATMUL_WARPGROUP_PLACES + i] =
            WARPGROUP_COLUMNS * WARPGROUP_LINE;
    }
    launch->threadgroup_length_count = 2 * MATMUL_WARPGROUP_PLACES;
}

static void choose_block(const struct plan *plan, uint32_t rows, struct igo_launch *launch) {
    const bool is_float = plan->a.tensor->type == INGOT_SCALAR_F32;
    igo_launch_kernel(launch, "matmul_blocks_%u_%s", rows, igo_type_name(plan->a.tensor->type));
    igo_launch_constant_bool(launch, "block_b_transposed", plan->b.transposed);
    igo_launch_constant_bool(launch, "block_a_transposed", plan->a.transposed);
    launch->threadgroups[0] = blocks(plan->args.n, BLOCK_SIZE);
    launch->threadgroups[1] = blocks(plan->args.m, rows);
    launch->group[0] = is_float ? 2 * BLOCK_SIZE : rows;
    if (is_float) {
        return;
    }
    for (int i = 0; i < PANELS; i++) {
        launch->threadgroup_lengths[i] = panel_bytes(rows);
        launch->threadgroup_lengths[PANELS + i] = panel_bytes(BLOCK_SIZE);
    }
    launch->threadgroup_length_count = 2 * PANELS;
}

static void choose_kernel(struct igo_call *call, struct plan *plan, struct igo_launch *launch) {
    const struct matmul_args *args = &plan->args;
    const char *type = igo_type_name(plan->a.tensor->type);
    if (plan->pairs) {
        igo_launch_kernel(launch, "matmul_pairs_%u_%s", plan->pairs, type);
        launch->threadgroups[0] = blocks(args->n, plan->pairs);
        launch->threadgroups[1] = blocks(args->m, PAIRS_ROWS);
        launch->group[0] = 32;
        return;
    }
    if (plan->panels) {
        igo_launch_kernel(launch, "matmul_panels_%u_%s", plan->panels, type);
        launch->threadgroups[0] = blocks(args->n, plan->panels);
        launch->threadgroups[1] = blocks(args->m, PANELS_ROWS);
        launch->group[0] = 32;
        return;
    }
    if (has_few_rows(call, plan)) {
        const bool two = args->m == 2 && plan->b.transposed && igo_knob(call, KNOB_WIDE) == 2;
        const uint32_t rows = args->m == 1 ? 1 : two ? 2 : FEW_ROWS;
        const uint32_t simds = igo_knob(call, KNOB_SIMD);
        const bool wide = igo_knob(call, KNOB_WIDE) == 1 && plan->b.transposed &&
                          !plan->a.transposed && args->k && args->k % 8 == 0 &&
                          igo_aligned(plan->a.tensor, 16) && igo_aligned(plan->b.tensor, 16);
        const bool spans = !plan->b.transposed && igo_knob(call, KNOB_WIDE) == 2 &&
                           (rows == 1 || plan->a.tensor->type == INGOT_SCALAR_F32);
        igo_launch_kernel(launch, "matmul_%s_%u_%s",
                          wide                 ? "dots_wide"
                          : plan->b.transposed ? "dots"
                          : spans              ? "spans"
                                               : "columns",
                          rows, type);
        if (spans) {
            launch->threadgroups[0] = blocks(args->n, SPAN_COLUMNS);
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
        return;
    }
    if (is_packed(call, args)) {
        igo_launch_kernel(launch, "matmul_packed_%u_%s", wide_columns(args->n), type);
        launch->threadgroups[0] = blocks(args->n, wide_columns(args->n));
        launch->threadgroups[1] = blocks(args->m, PACKED_ROWS);
        launch->group[0] = 32;
        return;
    }
    plan->block_rows = block_rows(call, plan);
    if (wants_warpgroups(call, plan)) {
        choose_warpgroups(plan, launch);
        if (igo_has_kernel(call, launch)) { /* archives may be without code of that level */
            return;
        }
        *launch = (struct igo_launch){0};
    }
    if (plan->block_rows) {
        choose_block(plan, plan->block_rows, launch);
        return;
    }
    const struct tile_shape *shape = tile_for(call, args);
    igo_launch_kernel(launch, "matmul_tiles_%ux%u_%s", shape->rows, shape->columns, type);
    launch->threadgroups[0] = blocks(args->n, shape->columns);
    launch->threadgroups[1] = blocks(args->m, shape->rows);
    launch->group[0] = 32 * shape->simds;
}

/* Parts of k, so that there is enough to do for all of the device. */
static void split(struct igo_call *call, struct plan *plan, const struct igo_launch *launch) {
    struct matmul_args *args = &plan->args;
    const uint64_t there =
        (uint64_t)launch->threadgroups[0] * launch->threadgroups[1] * args->batch;
    uint64_t parts = wanted_groups(call, plan->block_rows) / (there ? there : 1);
    const uint64_t most = args->k / igo_knob(call, KNOB_DEPTH);
    parts = parts < most ? parts : most;
    parts = parts > 1 ? parts : 1;
    const uint64_t depth = (args->k + parts - 1) / parts;
    args->part_depth =
        parts > 1 ? (uint32_t)((depth + MATMUL_DEPTH - 1) / MATMUL_DEPTH * MATMUL_DEPTH) : args->k;
    args->parts = args->k ? blocks(args->k, args->part_depth) : 1;
}

/* A matrix without elements has no memory; any other is bound in its place and not read. */
static const ingot_tensor *memory_of(const struct plan *plan, const struct operand *operand) {
    return plan->args.k ? operand->tensor : plan->out.tensor;
}

static void multiply(struct igo_call *call, const struct plan *plan, struct igo_launch *launch,
                     const ingot_tensor *a, const ingot_tensor *b, ingot_buffer *sums) {
    launch->threadgroups[2] = plan->args.batch * plan->args.parts;
    launch->group[1] = launch->group[2] = 1;
    launch->whole_simdgroups = true;
    igo_launch_tensor(launch, a, NULL);
    igo_launch_tensor(launch, b, NULL);
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

/* One operand anew, in scratch memory: `lines` of `width` rows or columns each. */
static ingot_tensor pack(struct igo_call *call, const struct plan *plan, const char *kernel,
                         const struct operand *operand, uint32_t lines, uint32_t width,
                         uint64_t *batch) {
    const uint64_t depth = blocks(plan->args.k, PACK_ROWS) * (uint64_t)PACK_ROWS;
    const uint32_t count = operand->batch ? plan->args.batch : 1;
    const int64_t size = (int64_t)(count * lines * width * depth);
    ingot_tensor packed = igo_scratch_tensor(
        call, plan->pairs || plan->panels ? operand->tensor->type : INGOT_SCALAR_F32, 1, &size);
    *batch = operand->batch ? lines * width * depth : 0;
    struct igo_launch launch = {.group = {32, 1, 1}, .whole_simdgroups = true};
    igo_launch_kernel(&launch, "%s_%s", kernel, igo_type_name(operand->tensor->type));
    igo_launch_tensor(&launch, operand->tensor, NULL);
    igo_launch_tensor(&launch, &packed, NULL);
    igo_launch_bytes(&launch, &plan->args, sizeof plan->args);
    launch.threadgroups[0] = blocks((uint32_t)depth, PACK_DEPTH);
    launch.threadgroups[1] = lines;
    launch.threadgroups[2] = count;
    igo_dispatch(call, &launch);
    return packed;
}

static void multiply_packed(struct igo_call *call, struct plan *plan, struct igo_launch *launch,
                            ingot_buffer *sums) {
    struct matmul_args *args = &plan->args;
    uint64_t a_batch = 0, b_batch = 0;
    const uint32_t columns = wide_columns(args->n);
    ingot_tensor a = pack(call, plan, "matmul_pack_a", &plan->a, blocks(args->m, PACK_ROWS),
                          PACK_ROWS, &a_batch);
    ingot_tensor b = pack(call, plan, columns == 48 ? "matmul_pack_b_48" : "matmul_pack_b_32",
                          &plan->b, blocks(args->n, columns), columns, &b_batch);
    args->a_batch = a_batch;
    args->b_batch = b_batch;
    if (args->parts == 1) {
        args->part_depth = blocks(args->k, PACK_ROWS) * PACK_ROWS;
    }
    multiply(call, plan, launch, &a, &b, sums);
    igo_scratch_release(call, a.buffer);
    igo_scratch_release(call, b.buffer);
}

static void multiply_pairs(struct igo_call *call, struct plan *plan, struct igo_launch *launch,
                           ingot_buffer *sums) {
    struct matmul_args *args = &plan->args;
    ingot_tensor a = *plan->a.tensor;
    uint64_t a_batch = args->a_batch, b_batch = 0;
    if (plan->a.transposed) {
        a = pack(call, plan, "matmul_pairs_left", &plan->a, blocks(args->m, PACK_ROWS), PACK_ROWS,
                 &a_batch);
    }
    const uint32_t columns = blocks(args->n, plan->pairs) * plan->pairs;
    ingot_tensor b = pack(call, plan, "matmul_pairs_right_16", &plan->b,
                          blocks(columns, 2 * PAIRS_UNIT), 2 * PAIRS_UNIT, &b_batch);
    args->a_batch = a_batch;
    args->b_batch = b_batch;
    if (plan->a.transposed) {
        args->a_stride = blocks(args->k, PACK_ROWS) * (uint64_t)PACK_ROWS;
    }
    multiply(call, plan, launch, &a, &b, sums);
    if (plan->a.transposed) {
        igo_scratch_release(call, a.buffer);
    }
    igo_scratch_release(call, b.buffer);
}

static void multiply_panels(struct igo_call *call, struct plan *plan, struct igo_launch *launch,
                            ingot_buffer *sums) {
    if (!packs_left(plan)) {
        multiply(call, plan, launch, plan->a.tensor, plan->b.tensor, sums);
        return;
    }
    uint64_t a_batch = 0;
    const bool is_float = plan->a.tensor->type == INGOT_SCALAR_F32;
    ingot_tensor a = pack(call, plan, is_float ? "matmul_pack_a" : "matmul_pairs_left", &plan->a,
                          blocks(plan->args.m, PACK_ROWS), PACK_ROWS, &a_batch);
    plan->args.a_batch = a_batch;
    plan->args.a_stride =
        is_float ? PACK_ROWS : blocks(plan->args.k, PACK_ROWS) * (uint64_t)PACK_ROWS;
    plan->args.a_transposed = is_float ? 2 : 0;
    multiply(call, plan, launch, &a, plan->b.tensor, sums);
    igo_scratch_release(call, a.buffer);
}

static void reduce(struct igo_call *call, const struct plan *plan, ingot_buffer *sums) {
    const struct matmul_args *args = &plan->args;
    struct igo_launch launch = {.threads = {args->n, args->m, args->batch}};
    igo_launch_kernel(&launch, "matmul_reduce_%s", igo_type_name(plan->a.tensor->type));
    igo_launch_buffer(&launch, sums, 0);
    igo_launch_tensor(&launch, plan->bias, plan->out.tensor);
    igo_launch_tensor(&launch, plan->out.tensor, NULL);
    igo_launch_bytes(&launch, args, sizeof *args);
    launch.group[0] = args->n < 256 ? (args->n + 31) / 32 * 32 : 256;
    launch.group[1] = launch.group[2] = 1;
    igo_dispatch(call, &launch);
}

static void set_strides(struct plan *plan) {
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
    struct plan plan = {0};
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
    choose_panels(&call, &plan);
    if (!plan.panels) {
        choose_pairs(&call, &plan);
    }
    if (!plan.pairs && !plan.panels) {
        turn_few_rows(&call, &plan);
    }
    set_strides(&plan);
    struct igo_launch launch = {0};
    choose_kernel(&call, &plan, &launch);
    split(&call, &plan, &launch);
    ingot_buffer *sums = NULL;
    if (args->parts > 1) {
        sums = igo_scratch(&call, 4ull * args->parts * args->batch * args->m * args->n);
    }
    if (plan.pairs) {
        multiply_pairs(&call, &plan, &launch, sums);
    } else if (plan.panels) {
        multiply_panels(&call, &plan, &launch, sums);
    } else if (!has_few_rows(&call, &plan) && is_packed(&call, args)) {
        multiply_packed(&call, &plan, &launch, sums);
    } else {
        multiply(&call, &plan, &launch, memory_of(&plan, &plan.a), memory_of(&plan, &plan.b), sums);
    }
    if (args->parts > 1) {
        reduce(&call, &plan, sums);
    }
    igo_scratch_release(&call, sums);
    return igo_end(&call);
}
