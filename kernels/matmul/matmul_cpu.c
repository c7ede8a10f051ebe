/*
 * matmul on CPUs: panels and pairs, which keep sums in registers, and large products from packed
 * operands.
 */
#include "matmul/matmul_plan.h"

/* The packed form (matmul.metal): a in rows of 8, b in columns of 48 or 32, k in tiles of 8. */
enum { PACKED_ROWS = 64, PACK_ROWS = 8, PACK_DEPTH = 256, PACK_LEAST_DEPTH = 64 };

/* matmul_pairs.h: rows of a block, where it pays at all, and steps of k of the right side. */
enum { PAIRS_ROWS = 64, PAIRS_LEAST = 16, PAIRS_STEP = 16 };

/* matmul_units.h: rows of a threadgroup, or columns where it has all; and the multiples that rows,
 * columns and k are filled up to. */
enum {
    UNITS_ROWS = 128,
    UNITS_COLUMNS = 128,
    UNITS_SIDE = 32,
    UNITS_LEAST = 12,
    UNITS_LEAST_HALVES = 48, /* where the larger side of halves is to be laid out anew */
    UNITS_CACHE = 1 << 20
};

/* matmul_panels.h: rows of a block; as many at a time. */
enum { PANELS_ROWS = 96, PANELS_TALL = 8, PANELS_NARROW = 8, PANELS_NARROW_TALL = 16 };

/* 48 at a time are a little faster, unless many of them are past the end. */
static uint32_t wide_columns(uint32_t n) {
    const uint64_t wide = blocks(n, 48) * 48ull, narrow = blocks(n, 32) * 32ull;
    return wide * 15 > narrow * 16 ? 32 : 48;
}

/* What it takes to lay out so many lines of k anew, over k and in sums: of more than the
 * second-level cache has, memory takes the time. */
static double layout_cost(uint64_t lines, uint32_t k, bool transposed) {
    enum { CACHE = 1 << 20 };
    const double each = transposed ? 12 : 6;
    return (lines * k * sizeof(uint16_t) > CACHE ? 24 : each) * (double)lines;
}

/* About what a product by pairs takes, over k: the sums, 32 in a cycle, and what is laid out anew.
 */
static double pairs_cost(const struct matmul_plan *plan) {
    const struct matmul_args *args = &plan->args;
    const uint32_t width = wide_columns(args->n);
    const double sums = 8.0 * blocks(args->m, 8) * width * blocks(args->n, width);
    return sums + (plan->a.transposed ? layout_cost(args->m, args->k, true) : 0) +
           layout_cost(args->n, args->k, plan->b.transposed);
}

/* Large products of bfloat by pairs, as they are or as the transposed result. */
void igo_matmul_choose_pairs(struct igo_call *call, struct matmul_plan *plan) {
    struct matmul_args *args = &plan->args;
    if (!uses_panels(call) || args->m <= PAIRS_LEAST || args->n <= PAIRS_LEAST || args->k < 16 ||
        plan->a.tensor->type != INGOT_SCALAR_BF16) {
        return;
    }
    struct matmul_plan turned = *plan;
    igo_matmul_swap_operands(&turned);
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

/* Is the left side to be read where it lies? It is once only. */
static bool fits_rows(const struct matmul_plan *plan) {
    return !plan->a.transposed && plan->args.n <= UNITS_COLUMNS && plan->args.n < plan->args.m;
}

/* What the units take of an element: a half is two of bfloat. */
static uint32_t unit_parts(const struct matmul_plan *plan) {
    return plan->a.tensor->type == INGOT_SCALAR_F16 ? 2 : 1;
}

void igo_matmul_choose_units(struct igo_call *call, struct matmul_plan *plan) {
    const struct matmul_args *args = &plan->args;
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "matmul_units_%s", igo_type_name(plan->a.tensor->type));
    plan->units = igo_knob(call, KNOB_TILE) >= TILE_UNITS && args->m >= UNITS_LEAST &&
                  args->n >= UNITS_LEAST && args->k >= UNITS_SIDE &&
                  plan->a.tensor->type != INGOT_SCALAR_F32 && igo_has_kernel(call, &launch);
    struct matmul_plan turned = *plan;
    igo_matmul_swap_operands(&turned);
    turned.args.out_transposed = 1;
    if (plan->units && fits_rows(&turned)) {
        *plan = turned;
    }
    plan->units_rows = plan->units && fits_rows(plan);
    plan->units &= plan->units_rows || unit_parts(plan) == 1 ||
                   (args->m >= UNITS_LEAST_HALVES && args->n >= UNITS_LEAST_HALVES);
    plan->units_columns = plan->units && !plan->units_rows && args->m <= UNITS_ROWS;
}

/* Of a short k the result takes the time, which goes out 32 columns at a time. */
static uint32_t panel_columns(uint32_t n, uint32_t k) {
    return n <= PANELS_NARROW     ? PANELS_NARROW
           : n <= 16              ? 16
           : k < PACK_LEAST_DEPTH ? 32
                                  : wide_columns(n);
}

/* A left side that lies [k][m], and is used for several panels. Halves become floats on the way to
 * threadgroup memory, and have no form of their own. */
static bool packs_left(const struct matmul_plan *plan) {
    return plan->a.tensor->type != INGOT_SCALAR_F16 && plan->a.transposed && plan->args.n >= 192 &&
           plan->args.k >= 8;
}

/* About the cycles that a product by panels takes per k: the sums, what goes through threadgroup
 * memory, and the result. */
static double panels_cost(const struct matmul_plan *plan) {
    const struct matmul_args *args = &plan->args;
    const uint32_t width = panel_columns(args->n, args->k);
    const uint32_t tall = width == PANELS_NARROW ? PANELS_NARROW_TALL : PANELS_TALL;
    const double columns = blocks(args->n, width), rows = (double)blocks(args->m, tall) * tall;
    const double left = packs_left(plan)     ? 2 + 0.12 * columns
                        : plan->a.transposed ? 0.6 * columns
                                             : 0.12 * columns;
    const bool straight = !args->out_transposed && !args->has_bias && !args->epilogue;
    const double out = plan->a.tensor->type != INGOT_SCALAR_BF16 ? 0
                       : straight                                ? 0.15
                       : args->out_transposed                    ? 1
                                                                 : 0.6;
    const double products = plan->a.tensor->type == INGOT_SCALAR_BF16 ? 32 : 16; /* in a cycle */
    return columns * width * rows / products + left * args->m +
           (double)args->n * blocks(args->m, PANELS_ROWS) * (plan->b.transposed ? 0.6 : 0.2) +
           out * args->m * args->n / args->k;
}

/* Products of f32 by panels, and those of 16 bits that are one block high, or have little of k: as
 * they are, or as the transposed result. */
void igo_matmul_choose_panels(struct igo_call *call, struct matmul_plan *plan) {
    struct matmul_args *args = &plan->args;
    const ingot_scalar_type type = plan->a.tensor->type;
    const bool enough =
        (args->m > igo_knob(call, KNOB_FEW) && !igo_matmul_has_eights(call, plan)) ||
        (args->m > 1 && plan->b.transposed &&
         (plan->a.transposed || (args->m > 2 && args->k <= 64)));
    /* An operand that has to be turned is turned for each block; then there should be few. */
    const uint32_t most = plan->b.transposed && !plan->a.transposed ? 40 : PANELS_ROWS;
    const bool one_block = args->m <= most || args->n <= most || args->k < PACK_LEAST_DEPTH;
    if (!uses_panels(call) || !enough || !args->k || !(type == INGOT_SCALAR_F32 || one_block)) {
        return;
    }
    struct matmul_plan turned = *plan;
    igo_matmul_swap_operands(&turned);
    turned.args.out_transposed = 1;
    const bool turns = panels_cost(&turned) < panels_cost(plan);
    const uint32_t columns = panel_columns(turns ? turned.args.n : args->n, args->k);
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
bool igo_matmul_is_packed(const struct igo_call *call, const struct matmul_args *args) {
    const uint32_t least = igo_knob(call, KNOB_PACK);
    return least && args->m >= least && args->n >= least && args->k >= PACK_LEAST_DEPTH;
}

void igo_matmul_launch_panels(const struct matmul_plan *plan, struct igo_launch *launch) {
    igo_launch_kernel(launch, "matmul_panels_%u_%s", plan->panels,
                      igo_type_name(plan->a.tensor->type));
    launch->threadgroups[0] = blocks(plan->args.n, plan->panels);
    launch->threadgroups[1] = blocks(plan->args.m, PANELS_ROWS);
    launch->group[0] = 32;
}

void igo_matmul_launch_pairs(const struct matmul_plan *plan, struct igo_launch *launch) {
    igo_launch_kernel(launch, "matmul_pairs_%u_%s", plan->pairs,
                      igo_type_name(plan->a.tensor->type));
    launch->threadgroups[0] = blocks(plan->args.n, plan->pairs);
    launch->threadgroups[1] = blocks(plan->args.m, PAIRS_ROWS);
    launch->group[0] = 32;
}

/* Threadgroups whose rows together take a half of a second-level cache. */
static uint32_t units_below(const struct matmul_plan *plan) {
    const struct matmul_args *args = &plan->args;
    const uint64_t bytes = 2ull * unit_parts(plan) * UNITS_ROWS * args->k,
                   fit = UNITS_CACHE / (bytes ? bytes : 1);
    const uint32_t most = blocks(args->m, UNITS_ROWS);
    return fit < 1 ? 1 : fit < most ? (uint32_t)fit : most;
}

void igo_matmul_launch_units(const struct matmul_plan *plan, struct igo_launch *launch) {
    const struct matmul_args *args = &plan->args;
    const char *const type = igo_type_name(plan->a.tensor->type);
    launch->group[0] = 32;
    if (plan->units_rows) {
        igo_launch_kernel(launch, "matmul_units_rows_%s", type);
        launch->threadgroups[0] = blocks(args->m, UNITS_SIDE);
        launch->threadgroups[1] = 1;
        return;
    }
    if (plan->units_columns) {
        igo_launch_kernel(launch, "matmul_units_columns_%s", type);
        launch->threadgroups[0] = blocks(args->n, UNITS_SIDE);
        launch->threadgroups[1] = 1;
        return;
    }
    const uint32_t below = units_below(plan);
    igo_launch_kernel(launch, "matmul_units_%s", type);
    launch->threadgroups[0] = blocks(args->n, UNITS_SIDE) * below;
    launch->threadgroups[1] = blocks(blocks(args->m, UNITS_ROWS), below);
}

void igo_matmul_launch_packed(const struct matmul_plan *plan, struct igo_launch *launch) {
    const uint32_t columns = wide_columns(plan->args.n);
    igo_launch_kernel(launch, "matmul_packed_%u_%s", columns, igo_type_name(plan->a.tensor->type));
    launch->threadgroups[0] = blocks(plan->args.n, columns);
    launch->threadgroups[1] = blocks(plan->args.m, PACKED_ROWS);
    launch->group[0] = 32;
}

/* How an operand is laid out anew: `lines` of `width` rows or columns each, k in steps. */
struct packing {
    const char *kernel;
    uint32_t lines, width, step;
};

/* In scratch memory. */
static ingot_tensor pack(struct igo_call *call, const struct matmul_plan *plan,
                         const struct matmul_operand *operand, struct packing packing,
                         uint64_t *batch) {
    const uint32_t lines = packing.lines, width = packing.width, step = packing.step;
    const uint64_t depth = blocks(plan->args.k, step) * (uint64_t)step;
    const uint64_t parts = plan->units ? unit_parts(plan) : 1;
    const uint32_t count = operand->batch ? plan->args.batch : 1;
    const int64_t size = (int64_t)(count * lines * width * depth * parts);
    ingot_tensor packed = igo_scratch_tensor(
        call, plan->pairs || plan->panels || plan->units ? operand->tensor->type : INGOT_SCALAR_F32,
        1, &size);
    *batch = operand->batch ? lines * width * depth * parts : 0;
    struct igo_launch launch = {.group = {32, 1, 1}, .whole_simdgroups = true};
    igo_launch_kernel(&launch, "%s_%s", packing.kernel, igo_type_name(operand->tensor->type));
    igo_launch_tensor(&launch, operand->tensor, NULL);
    igo_launch_tensor(&launch, &packed, NULL);
    igo_launch_bytes(&launch, &plan->args, sizeof plan->args);
    launch.threadgroups[0] = blocks((uint32_t)depth, PACK_DEPTH);
    launch.threadgroups[1] = lines;
    launch.threadgroups[2] = count;
    igo_dispatch(call, &launch);
    return packed;
}

void igo_matmul_multiply_packed(struct igo_call *call, struct matmul_plan *plan,
                                struct igo_launch *launch, ingot_buffer *sums) {
    struct matmul_args *args = &plan->args;
    uint64_t a_batch = 0, b_batch = 0;
    const uint32_t columns = wide_columns(args->n);
    ingot_tensor a =
        pack(call, plan, &plan->a,
             (struct packing){"matmul_pack_a", blocks(args->m, PACK_ROWS), PACK_ROWS, PACK_ROWS},
             &a_batch);
    ingot_tensor b = pack(call, plan, &plan->b,
                          (struct packing){columns == 48 ? "matmul_pack_b_48" : "matmul_pack_b_32",
                                           blocks(args->n, columns), columns, PACK_ROWS},
                          &b_batch);
    args->a_batch = a_batch;
    args->b_batch = b_batch;
    if (args->parts == 1) {
        args->part_depth = blocks(args->k, PACK_ROWS) * PACK_ROWS;
    }
    igo_matmul_multiply(call, plan, launch, &a, &b, sums);
    igo_scratch_release(call, a.buffer);
    igo_scratch_release(call, b.buffer);
}

void igo_matmul_multiply_units(struct igo_call *call, struct matmul_plan *plan,
                               struct igo_launch *launch, ingot_buffer *sums) {
    struct matmul_args *args = &plan->args;
    uint64_t a_batch = args->a_batch, b_batch = args->b_batch;
    ingot_tensor a = *plan->a.tensor, b = *plan->b.tensor;
    if (!plan->units_rows) {
        a = pack(call, plan, &plan->a,
                 (struct packing){"matmul_units_left", blocks(args->m, UNITS_SIDE), UNITS_SIDE,
                                  UNITS_SIDE},
                 &a_batch);
    }
    if (!plan->units_columns) {
        b = pack(call, plan, &plan->b,
                 (struct packing){"matmul_units_right", blocks(args->n, UNITS_SIDE), UNITS_SIDE,
                                  UNITS_SIDE},
                 &b_batch);
        args->b_stride = units_below(plan);
    }
    args->a_batch = a_batch;
    args->b_batch = b_batch;
    if (args->parts == 1) {
        args->part_depth = blocks(args->k, UNITS_SIDE) * UNITS_SIDE;
    }
    igo_matmul_multiply(call, plan, launch, &a, &b, sums);
    if (!plan->units_rows) {
        igo_scratch_release(call, a.buffer);
    }
    if (!plan->units_columns) {
        igo_scratch_release(call, b.buffer);
    }
}

void igo_matmul_multiply_pairs(struct igo_call *call, struct matmul_plan *plan,
                               struct igo_launch *launch, ingot_buffer *sums) {
    struct matmul_args *args = &plan->args;
    ingot_tensor a = *plan->a.tensor;
    uint64_t a_batch = args->a_batch, b_batch = 0;
    if (plan->a.transposed) {
        a = pack(
            call, plan, &plan->a,
            (struct packing){"matmul_pairs_left", blocks(args->m, PACK_ROWS), PACK_ROWS, PACK_ROWS},
            &a_batch);
    }
    ingot_tensor b =
        pack(call, plan, &plan->b,
             (struct packing){plan->pairs == 48 ? "matmul_pairs_right_48" : "matmul_pairs_right_32",
                              blocks(args->n, plan->pairs), plan->pairs, PAIRS_STEP},
             &b_batch);
    args->a_batch = a_batch;
    args->b_batch = b_batch;
    if (plan->a.transposed) {
        args->a_stride = blocks(args->k, PACK_ROWS) * (uint64_t)PACK_ROWS;
    }
    igo_matmul_multiply(call, plan, launch, &a, &b, sums);
    if (plan->a.transposed) {
        igo_scratch_release(call, a.buffer);
    }
    igo_scratch_release(call, b.buffer);
}

void igo_matmul_multiply_panels(struct igo_call *call, struct matmul_plan *plan,
                                struct igo_launch *launch, ingot_buffer *sums) {
    if (!packs_left(plan)) {
        igo_matmul_multiply(call, plan, launch, plan->a.tensor, plan->b.tensor, sums);
        return;
    }
    uint64_t a_batch = 0;
    const bool is_float = plan->a.tensor->type == INGOT_SCALAR_F32;
    ingot_tensor a = pack(call, plan, &plan->a,
                          (struct packing){is_float ? "matmul_pack_a" : "matmul_pairs_left",
                                           blocks(plan->args.m, PACK_ROWS), PACK_ROWS, PACK_ROWS},
                          &a_batch);
    plan->args.a_batch = a_batch;
    plan->args.a_stride =
        is_float ? PACK_ROWS : blocks(plan->args.k, PACK_ROWS) * (uint64_t)PACK_ROWS;
    plan->args.a_transposed = is_float ? 2 : 0;
    igo_matmul_multiply(call, plan, launch, &a, plan->b.tensor, sums);
    igo_scratch_release(call, a.buffer);
}
