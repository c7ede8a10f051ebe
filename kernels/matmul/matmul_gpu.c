/*
 * matmul on GPUs: what a threadgroup makes, and how many parts k has. Of the kernels that could
 * make a product of 16 bits, the one is taken that a simple model expects to be the fastest.
 */
#include "base/scalar.h"
#include "matmul/matmul_plan.h"

enum { PIECE_BYTES = 16, MOST_TURNED = 64, MOST_PARTS = 32 };

/* ---- what there is ---- */

/* The last of the shapes of floats that are for few rows; what their rows may be apart. */
enum { SMALL_FLOATS = 2, MOST_FLOAT_STRIDE = 1 << 24 };

/* `alone` and `more`: microseconds that a panel takes of the only threadgroup of a multiprocessor,
 * and how many more with each that is there too; `resident`: how many there can be. Measured on an
 * H200; their ratios matter. */
static const struct matmul_shape {
    enum matmul_kind kind;
    uint32_t rows, columns, depth, threads, resident;
    float alone, more;
} strips[] = {{MATMUL_STRIPS, 16, 32, 256, 128, 3, 0.7f, 0.2f},
              {MATMUL_STRIPS, 32, 32, 256, 128, 2, 0.75f, 0.5f},
              {MATMUL_STRIPS, 64, 64, 64, 128, 3, 0.6f, 0.2f}},
  loose[] = {{MATMUL_LOOSE, 16, 64, 64, 128, 5, 1.2f, 0.3f},
             {MATMUL_LOOSE, 32, 64, 64, 128, 4, 1.3f, 0.4f},
             {MATMUL_LOOSE, 64, 64, 64, 128, 3, 1.5f, 0.6f}},
  warpgroups[] = {{MATMUL_WARPGROUPS, 128, 256, 64, 256, 1, 0.72f, 0},
                  {MATMUL_WARPGROUPS, 128, 128, 64, 256, 1, 0.49f, 0},
                  {MATMUL_WARPGROUPS, 128, 64, 64, 256, 2, 0.41f, 0.12f},
                  {MATMUL_WARPGROUPS, 64, 128, 64, 128, 2, 0.42f, 0.09f},
                  {MATMUL_WARPGROUPS, 64, 64, 64, 128, 3, 0.32f, 0.09f}},
  floats[] = {{MATMUL_FLOATS, 16, 128, 16, 128, 4, 0, 0},
              {MATMUL_FLOATS, 32, 128, 16, 128, 4, 0, 0},
              {MATMUL_FLOATS, 64, 64, 16, 128, 4, 0, 0},
              {MATMUL_FLOATS, 128, 128, 16, 256, 2, 0, 0},
              {MATMUL_FLOAT_BLOCKS, 128, 128, 16, 256, 2, 0, 0}};

static const char *const kernel_names[] = {[MATMUL_STRIPS] = "strips",
                                           [MATMUL_LOOSE] = "loose",
                                           [MATMUL_WARPGROUPS] = "warpgroups",
                                           [MATMUL_FLOATS] = "floats"};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* ---- operands ---- */

/* Lines of an operand's matrices begin at whole pieces, and have no other elements. */
static bool is_aligned(const struct matmul_operand *operand, uint32_t along, uint32_t lines,
                       uint32_t batch) {
    const ingot_tensor *t = operand->tensor;
    const uint64_t piece = PIECE_BYTES / ig_scalar_size(t->type);
    return (ingot_buffer_address(t->buffer) + t->offset) % PIECE_BYTES == 0 && along % piece == 0 &&
           (lines <= 1 || operand->stride % piece == 0) &&
           (batch <= 1 || operand->batch % piece == 0);
}

static bool is_a_aligned(const struct matmul_plan *plan) {
    const struct matmul_args *args = &plan->args;
    const bool deep = !plan->a.transposed;
    return is_aligned(&plan->a, deep ? args->k : args->m, deep ? args->m : args->k, args->batch);
}

static bool is_b_aligned(const struct matmul_plan *plan) {
    const struct matmul_args *args = &plan->args;
    const bool deep = plan->b.transposed;
    return is_aligned(&plan->b, deep ? args->k : args->n, deep ? args->n : args->k, args->batch);
}

/* The whole aligned pieces of an operand's buffer; false if there is none, or too many. */
static bool find_pieces(const struct matmul_operand *operand, struct matmul_pieces *pieces) {
    const ingot_tensor *t = operand->tensor;
    const uint64_t shift = (ingot_buffer_address(t->buffer) + t->offset) % PIECE_BYTES;
    const uint64_t end = (ingot_buffer_length(t->buffer) - t->offset + shift) / PIECE_BYTES;
    const uint64_t first = shift > t->offset;
    *pieces = (struct matmul_pieces){.shift = (uint32_t)(shift / ig_scalar_size(t->type)),
                                     .first = (uint32_t)first,
                                     .last = (uint32_t)(end - 1)};
    pieces->before = first ? 0 : pieces->shift;
    return end > first && end <= INT32_MAX;
}

/* The operand from its first piece on. */
static ingot_tensor from_first_piece(const ingot_tensor *operand,
                                     const struct matmul_pieces *pieces) {
    ingot_tensor result = *operand;
    result.offset -= pieces->before * ig_scalar_size(operand->type);
    return result;
}

ingot_tensor igo_matmul_bound(const struct matmul_plan *plan, const ingot_tensor *operand,
                              const struct matmul_pieces *pieces) {
    const bool by_pieces = plan->shape && plan->shape->kind == MATMUL_LOOSE;
    return by_pieces ? from_first_piece(operand, pieces) : *operand;
}

static void swap_operands(struct matmul_plan *plan) {
    struct matmul_args *args = &plan->args;
    const struct matmul_pieces pieces = args->a_pieces;
    igo_matmul_swap_operands(plan);
    args->out_transposed = args->out_loose = 1;
    args->a_pieces = args->b_pieces;
    args->b_pieces = pieces;
}

/* Of panels of each operand. */
static const uint32_t places[] = {[MATMUL_STRIPS] = 3,
                                  [MATMUL_LOOSE] = 2,
                                  [MATMUL_WARPGROUPS] = MATMUL_WARPGROUP_PLACES,
                                  [MATMUL_FLOATS] = 3,
                                  [MATMUL_FLOAT_BLOCKS] = 0};

/* Bytes of one of the panels of an operand. */
static uint32_t panel_bytes(const struct matmul_shape *shape, uint32_t count, bool deep) {
    switch (shape->kind) {
    case MATMUL_FLOATS:
        return 4 * MATMUL_FLOAT_DEPTH * (count + MATMUL_FLOAT_GAP);
    case MATMUL_WARPGROUPS:
        return 2 * shape->depth * count;
    default:
        return 2 * (deep ? count * (shape->depth + 8) : shape->depth * (count + 8));
    }
}

/* What sums of all depths of a strip take. */
static uint32_t sum_bytes(const struct matmul_shape *shape) {
    return 4 * (shape->depth / MATMUL_DEPTH) * shape->rows * (shape->columns + 8);
}

static bool fits(const struct igo_call *call, const struct matmul_shape *shape,
                 const struct matmul_plan *plan) {
    const uint32_t a = panel_bytes(shape, shape->rows, !plan->a.transposed);
    const uint32_t b = panel_bytes(shape, shape->columns, plan->b.transposed);
    const uint32_t sums =
        shape->kind == MATMUL_STRIPS && sum_bytes(shape) > b ? sum_bytes(shape) - b : 0;
    return places[shape->kind] * (a + b) + sums <= igo_threadgroup_memory(call);
}

/* ---- the model ---- */

static const float HIDDEN = 0.4f; /* what is seen of the shorter one of reading and computing */
static const float START = 2.6f, GATHER = 1.6f;                          /* microseconds */
static const float MEMORY = 3.6e6f, GATHERING = 2.4e6f, LAYING = 1.7e6f; /* bytes in one */

static uint64_t groups_of(const struct matmul_shape *shape, const struct matmul_args *args) {
    return (uint64_t)blocks(args->m, shape->rows) * blocks(args->n, shape->columns) * args->batch;
}

static float bytes_of(const struct matmul_args *args) {
    return 2.0f * (float)args->batch *
           ((float)args->m * (float)args->k + (float)args->n * (float)args->k +
            (float)args->m * (float)args->n);
}

static float time_of(const struct matmul_shape *shape, const struct matmul_args *args,
                     uint32_t units, uint32_t parts) {
    const uint64_t each = (groups_of(shape, args) * parts + units - 1) / units;
    const uint64_t full = each / shape->resident, rest = each % shape->resident;
    const float panels = (float)blocks(blocks(args->k, parts), shape->depth);
    float panel = (float)full * (shape->alone + (float)(shape->resident - 1) * shape->more);
    if (rest) {
        panel += shape->alone + (float)(rest - 1) * shape->more;
    }
    const float memory = bytes_of(args) / MEMORY, work = panels * panel;
    const float longer = work > memory ? work : memory, shorter = work > memory ? memory : work;
    const float sums = 8.0f * (float)parts * (float)args->m * (float)args->n * (float)args->batch;
    return START + longer + HIDDEN * shorter + (parts > 1 ? GATHER + sums / GATHERING : 0);
}

struct choice {
    const struct matmul_shape *shape;
    uint32_t parts;
    float time;
};

static void consider(const struct igo_call *call, const struct matmul_shape *shapes, size_t count,
                     const struct matmul_plan *plan, struct choice *best) {
    const uint32_t units = igo_device_info(call)->compute_units;
    for (size_t i = 0; i < count; i++) {
        for (uint32_t parts = 1; parts <= MOST_PARTS && fits(call, &shapes[i], plan); parts *= 2) {
            const float time = time_of(&shapes[i], &plan->args, units, parts);
            if (parts > 1 && plan->args.k / parts < 2 * shapes[i].depth) {
                break;
            }
            if (!best->shape || time < best->time) {
                *best = (struct choice){&shapes[i], parts, time};
            }
        }
    }
}

/* ---- the choice ---- */

/* Up to 16 rows take no time but that of reading b. */
static void choose_fewest(const struct igo_call *call, const struct matmul_plan *plan,
                          struct choice *best) {
    const uint32_t units = igo_device_info(call)->compute_units;
    const uint64_t wanted = units / groups_of(&strips[0], &plan->args);
    const uint64_t most = plan->args.k / 1024, parts = wanted < most ? wanted : most;
    *best = (struct choice){&strips[0], parts > 1 ? (uint32_t)parts : 1, 0};
}

static void choose_halves(struct igo_call *call, struct matmul_plan *plan) {
    struct matmul_args *args = &plan->args;
    const bool has_warpgroups = tile_knob(call) >= 5 && plan->warpgroups;
    if (!find_pieces(&plan->a, &args->a_pieces) || !find_pieces(&plan->b, &args->b_pieces)) {
        return;
    }
    if (args->n < args->m && args->n <= MOST_TURNED && !args->out_transposed) {
        swap_operands(plan);
    }
    struct choice best = {0};
    if (!is_a_aligned(plan) || !is_b_aligned(plan)) {
        struct choice laid_out = {0};
        consider(call, loose, COUNT_OF(loose), plan, &best);
        if (has_warpgroups) {
            consider(call, warpgroups, COUNT_OF(warpgroups), plan, &laid_out);
            plan->lay_out =
                laid_out.shape && laid_out.time + 2 * GATHER + bytes_of(args) / LAYING < best.time;
            best = plan->lay_out ? laid_out : best;
        }
    } else if (args->m <= strips[0].rows && fits(call, &strips[0], plan)) {
        choose_fewest(call, plan, &best);
    } else if (has_warpgroups) {
        consider(call, &strips[1], args->m <= MOST_TURNED, plan, &best);
        consider(call, warpgroups, COUNT_OF(warpgroups), plan, &best);
    } else if (args->m <= MOST_TURNED) {
        consider(call, strips, COUNT_OF(strips), plan, &best);
    }
    plan->shape = best.shape;
    plan->parts = best.parts;
}

static void choose_floats(struct igo_call *call, struct matmul_plan *plan) {
    struct matmul_args *args = &plan->args;
    const uint32_t units = igo_device_info(call)->compute_units;
    const bool aligned = is_a_aligned(plan) && is_b_aligned(plan);
    if (args->m <= igo_knob(call, KNOB_FEW) && aligned && args->k % 8 == 0 && plan->b.transposed &&
        !plan->a.transposed) {
        return; /* matmul_dots_wide */
    }
    if (plan->a.stride > MOST_FLOAT_STRIDE || plan->b.stride > MOST_FLOAT_STRIDE) {
        return; /* a block's places have 32 bits */
    }
    if (args->n < args->m && args->n <= floats[1].rows) {
        swap_operands(plan);
    }
    const struct matmul_shape *shape = &floats[SMALL_FLOATS];
    if (args->m <= floats[0].rows) {
        shape = &floats[0];
    } else if (args->m <= floats[1].rows) {
        shape = &floats[1];
    } else if (args->m > floats[SMALL_FLOATS].rows && args->n > floats[SMALL_FLOATS].columns &&
               groups_of(&floats[3], args) * (args->k / 256 ? args->k / 256 : 1) >= units / 2) {
        shape = &floats[aligned && args->k % floats[4].depth == 0 ? 4 : 3];
    }
    const uint64_t wanted = (uint64_t)units * shape->resident / groups_of(shape, args);
    const uint64_t most = args->k / (shape->rows > 64 ? 256 : 2 * shape->rows + 64);
    const uint64_t parts = wanted < most ? wanted : most;
    plan->shape = shape;
    plan->parts = parts > 1 ? (uint32_t)parts : 1;
}

void igo_matmul_choose_shape(struct igo_call *call, struct matmul_plan *plan) {
    struct matmul_args *args = &plan->args;
    if (tile_knob(call) < 4 || !args->k) {
        return;
    }
    args->out_loose = !is_aligned(&plan->out, args->n, args->m, args->batch);
    plan->warpgroups = true;
    if (plan->a.tensor->type == INGOT_SCALAR_F32) {
        choose_floats(call, plan);
        return;
    }
    choose_halves(call, plan);
    if (plan->shape && plan->shape->kind == MATMUL_WARPGROUPS) {
        struct igo_launch launch = {0};
        igo_matmul_launch_shape(plan, &launch);
        if (!igo_has_kernel(call, &launch)) { /* archives may be without code of that level */
            plan->warpgroups = plan->lay_out = false;
            plan->shape = NULL;
            choose_halves(call, plan);
        }
    }
}

/* ---- launches ---- */

void igo_matmul_launch_shape(const struct matmul_plan *plan, struct igo_launch *launch) {
    const struct matmul_shape *shape = plan->shape;
    const uint32_t count = places[shape->kind];
    const char *type = igo_type_name(plan->a.tensor->type);
    if (shape->kind == MATMUL_FLOAT_BLOCKS) {
        igo_launch_kernel(launch, "matmul_blocks_%u_%s", shape->rows, type);
    } else {
        igo_launch_kernel(launch, "matmul_%s_%ux%u_%s", kernel_names[shape->kind], shape->rows,
                          shape->columns, type);
    }
    igo_launch_constant_bool(launch, "block_b_transposed", plan->b.transposed);
    igo_launch_constant_bool(launch, "block_a_transposed", plan->a.transposed);
    launch->threadgroups[0] = blocks(plan->args.n, shape->columns);
    launch->threadgroups[1] = blocks(plan->args.m, shape->rows);
    launch->group[0] = shape->threads;
    for (uint32_t i = 0; i < count; i++) {
        launch->threadgroup_lengths[i] = panel_bytes(shape, shape->rows, !plan->a.transposed);
        launch->threadgroup_lengths[count + i] =
            panel_bytes(shape, shape->columns, plan->b.transposed);
    }
    launch->threadgroup_length_count = 2 * count;
    if (shape->kind == MATMUL_STRIPS) { /* b's first place has the sums of all depths, too */
        const uint32_t sums = sum_bytes(shape);
        uint32_t *length = &launch->threadgroup_lengths[count];
        *length = *length > sums ? *length : sums;
    }
}

/* ---- operands laid out anew ---- */

/* In scratch memory, with lines of whole pieces; `deep`: along k. */
static ingot_tensor lay_out(struct igo_call *call, struct matmul_operand *operand,
                            struct matmul_layout args, bool deep, uint32_t batch) {
    const uint32_t matrices = operand->batch && batch > 1 ? batch : 1;
    args.stride = operand->stride;
    args.batch = operand->batch;
    args.to_lines = deep ? args.lines : 8 * blocks(args.lines, 8);
    args.to_pieces = blocks(args.along, 8);
    const int64_t shape[] = {matrices, args.to_lines, 8ll * args.to_pieces};
    ingot_tensor result = igo_scratch_tensor(call, operand->tensor->type, 3, shape);
    struct igo_launch launch = {
        .threadgroups = {blocks(args.to_pieces, 32), blocks(args.to_lines, 32), matrices},
        .group = {32, 8, 1}};
    const ingot_tensor from = from_first_piece(operand->tensor, &args.where);
    igo_launch_kernel(&launch, "matmul_lay_out");
    igo_launch_tensor(&launch, &from, NULL);
    igo_launch_tensor(&launch, &result, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
    operand->stride = 8ull * args.to_pieces;
    operand->batch = matrices > 1 ? operand->stride * args.to_lines : 0;
    return result;
}

void igo_matmul_lay_out(struct igo_call *call, struct matmul_plan *plan, ingot_tensor laid_out[2]) {
    struct matmul_args *args = &plan->args;
    const bool a_deep = !plan->a.transposed, b_deep = plan->b.transposed;
    if (!plan->lay_out) {
        return;
    }
    laid_out[0] = lay_out(call, &plan->a,
                          (struct matmul_layout){.lines = a_deep ? args->m : args->k,
                                                 .along = a_deep ? args->k : args->m,
                                                 .where = args->a_pieces},
                          a_deep, args->batch);
    laid_out[1] = lay_out(call, &plan->b,
                          (struct matmul_layout){.lines = b_deep ? args->n : args->k,
                                                 .along = b_deep ? args->k : args->n,
                                                 .where = args->b_pieces},
                          b_deep, args->batch);
    plan->a.tensor = &laid_out[0];
    plan->b.tensor = &laid_out[1];
    args->k = 8 * blocks(args->k, 8);
}

/* ---- blocks of matmul_blocks.h: half and bfloat on cards without warpgroups ---- */

enum { BLOCK_SIZE = MATMUL_BLOCK, PANELS = 3 };

/* Threadgroups that fill the device: those with blocks of 256 rows have a multiprocessor each. */
uint64_t igo_matmul_wanted_groups(const struct igo_call *call, uint32_t block_rows) {
    return igo_knob(call, KNOB_FILL) / (block_rows > BLOCK_SIZE ? 2 : 1);
}

static uint32_t block_panel_bytes(uint32_t count) {
    return 2 * count * MATMUL_LINE;
}

/* Rows of the blocks, or of matmul_blocks_float.h: if operands, sizes and the device are what they
 * want; else 0. */
static uint32_t block_rows(const struct igo_call *call, const struct matmul_plan *plan) {
    const struct matmul_args *args = &plan->args;
    const bool is_float = plan->a.tensor->type == INGOT_SCALAR_F32;
    if (tile_knob(call) < 3 || !args->k || args->k % (is_float ? 16 : 8) || args->n % 8 ||
        args->out_transposed || !is_a_aligned(plan) || !is_b_aligned(plan)) {
        return 0;
    }
    if (is_float) {
        return BLOCK_SIZE;
    }
    if (!is_aligned(&plan->out, args->n, args->m, args->batch)) {
        return 0;
    }
    const uint64_t tall =
        (uint64_t)blocks(args->m, 2 * BLOCK_SIZE) * blocks(args->n, BLOCK_SIZE) * args->batch;
    uint32_t rows = tile_knob(call) >= 4 && tall >= igo_matmul_wanted_groups(call, 2 * BLOCK_SIZE)
                        ? 2 * BLOCK_SIZE
                        : BLOCK_SIZE;
    while (rows >= BLOCK_SIZE / 2 &&
           PANELS * block_panel_bytes(rows + BLOCK_SIZE) > igo_threadgroup_memory(call)) {
        rows /= 2;
    }
    return rows >= BLOCK_SIZE / 2 ? rows : 0; /* 64: cards with 100 KiB */
}

bool igo_matmul_launch_blocks(struct igo_call *call, struct matmul_plan *plan,
                              struct igo_launch *launch) {
    const uint32_t rows = plan->block_rows = block_rows(call, plan);
    const bool is_float = plan->a.tensor->type == INGOT_SCALAR_F32;
    if (!rows) {
        return false;
    }
    igo_launch_kernel(launch, "matmul_blocks_%u_%s", rows, igo_type_name(plan->a.tensor->type));
    igo_launch_constant_bool(launch, "block_b_transposed", plan->b.transposed);
    igo_launch_constant_bool(launch, "block_a_transposed", plan->a.transposed);
    launch->threadgroups[0] = blocks(plan->args.n, BLOCK_SIZE);
    launch->threadgroups[1] = blocks(plan->args.m, rows);
    launch->group[0] = is_float ? 2 * BLOCK_SIZE : rows;
    for (int i = 0; !is_float && i < PANELS; i++) {
        launch->threadgroup_lengths[i] = block_panel_bytes(rows);
        launch->threadgroup_lengths[PANELS + i] = block_panel_bytes(BLOCK_SIZE);
        launch->threadgroup_length_count = 2 * PANELS;
    }
    return true;
}
