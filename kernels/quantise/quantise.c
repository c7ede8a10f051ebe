/* quantise and dequantise on the host, and the check of quantised weights. */
#include "quantise/quantise.h"

#include <stdio.h>

#include "matmul/matmul_args.h"
#include "quantise/quantise_args.h"

enum { KNOB_GROUP, KNOB_LANES };
static const ingot_ops_knob knobs[] = {
    {.name = "group",
     .help = "threads per threadgroup",
     .fallback = 256,
     .minimum = 32,
     .maximum = 1024,
     .power_of_two = true},
    {.name = "lanes",
     .help = "1: lanes along the numbers; 0: a thread per word",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1},
};

enum {
    KNOB_PANEL,
    KNOB_FEW,
    KNOB_PAIRS,
    KNOB_ROWS,
    KNOB_FILL,
    KNOB_WIDE,
    KNOB_UNITS,
    KNOB_FROM,
};
static const ingot_ops_knob matmul_knobs[] = {
    [KNOB_PANEL] = {.name = "panel",
                    .help = "rows of the weights that are turned into numbers at once",
                    .fallback = 1024,
                    .minimum = 64,
                    .maximum = 65536},
    [KNOB_FEW] = {.name = "few",
                  .help = "up to this many rows of x, quantised_matvec does it",
                  .fallback = 8,
                  .minimum = 0,
                  .maximum = 64},
    [KNOB_PAIRS] = {.name = "pairs",
                    .help = "up to this many rows of x in bfloat, the weights become numbers on "
                            "their way to products of pairs, where the code level has those",
                    .fallback = 0,
                    .minimum = 0,
                    .maximum = 65536},
    [KNOB_ROWS] = {.name = "rows",
                   .help = "up to this many rows of x, the weights become numbers on their way to "
                           "products of tiles, where types and alignment allow it",
                   .fallback = 0,
                   .minimum = 0,
                   .maximum = 65536},
    [KNOB_WIDE] = {.name = "wide",
                   .help = "up to this many rows, and more than `rows`, the same by products of "
                           "four SIMD-groups, where the device has those",
                   .fallback = 0,
                   .minimum = 0,
                   .maximum = 65536},
    [KNOB_FILL] = {.name = "fill",
                   .help = "threadgroups that there should be then: with fewer, k is split",
                   .fallback = 1,
                   .minimum = 1,
                   .maximum = 65536},
    [KNOB_UNITS] = {.name = "units",
                    .help = "1: `pairs` is for products by matrix units, which CPUs of some code "
                            "levels have",
                    .fallback = 0,
                    .minimum = 0,
                    .maximum = 1},
    [KNOB_FROM] = {.name = "from",
                   .help = "from this many rows on, what `pairs` says",
                   .fallback = 0,
                   .minimum = 0,
                   .maximum = 64},
};

enum { QUANTISE, DEQUANTISE, MATMUL };
static const struct ingot_ops_info operations[] = {
    [QUANTISE] = {.name = "quantise",
                  .family = "quantised",
                  .summary = "weights to 4 or 8 bits, by groups of 32, 64 or 128",
                  .limits = "dense matrices; rows are multiples of the group",
                  .variants = "type, scales' type, bits, group, biases",
                  .types = IGO_FLOATS,
                  .knobs = knobs,
                  .knob_count = 1},
    [DEQUANTISE] = {.name = "dequantise",
                    .family = "quantised",
                    .summary = "the numbers that quantised weights stand for",
                    .limits = "dense matrices; rows are multiples of the group",
                    .variants = "type, scales' type, bits, group, biases",
                    .types = IGO_FLOATS,
                    .knobs = knobs,
                    .knob_count = 2},
    [MATMUL] = {.name = "quantised_matmul",
                .family = "quantised",
                .summary = "x times quantised weights, with bias and epilogue",
                .limits = "as quantised_matvec; one stride from row to row",
                .variants = "quantised_matvec's for few rows; dequantise's and matmul's for more",
                .types = IGO_FLOATS,
                .knobs = matmul_knobs,
                .knob_count = sizeof matmul_knobs / sizeof *matmul_knobs},
};

const struct igo_library igo_library_quantise = {
    .name = "quantise", .operations = operations, .operation_count = 3};

#define PACKED_TYPES (IGO_TYPE(INGOT_SCALAR_U32) | IGO_TYPE(INGOT_SCALAR_U8))

/* ---- the check ---- */

static uint32_t per_element(const ingot_quantised *q) {
    return (q->packed->type == INGOT_SCALAR_U8 ? 8 : 32) / q->bits;
}

int64_t igo_quantised_columns(const ingot_quantised *q) {
    return q->packed->shape[1] * per_element(q);
}

static bool check_numbers(struct igo_call *call, const char *name, const ingot_quantised *q) {
    return IGO_REQUIRE(call, q->bits == 4 || q->bits == 8, "%sbits is %u; it must be 4 or 8", name,
                       q->bits) &&
           IGO_REQUIRE(call, q->group == 32 || q->group == 64 || q->group == 128,
                       "%sgroup is %u; it must be 32, 64 or 128", name, q->group);
}

static bool check_matrix(struct igo_call *call, const char *name, const ingot_tensor *t,
                         uint32_t types, int64_t rows, int64_t columns, const char *meaning) {
    return igo_tensor(call, name, t, types, 2, 2) &&
           igo_extent(call, name, t, 0, rows, "rows of the weights") &&
           igo_extent(call, name, t, 1, columns, meaning) && igo_dense(call, name, t);
}

bool igo_quantised(struct igo_call *call, const char *name, const ingot_quantised *q, int64_t n,
                   int64_t k) {
    char packed[48], scales[48], biases[48];
    snprintf(packed, sizeof packed, "%spacked", name);
    snprintf(scales, sizeof scales, "%sscales", name);
    snprintf(biases, sizeof biases, "%sbiases", name);
    if (!check_numbers(call, name, q) || !igo_tensor(call, packed, q->packed, PACKED_TYPES, 2, 2) ||
        !IGO_REQUIRE(call, k % q->group == 0,
                     "rows have %lld elements, no multiple of the group %u", (long long)k,
                     q->group) ||
        !check_matrix(call, packed, q->packed, PACKED_TYPES, n, k / per_element(q),
                      "elements by what one holds") ||
        !check_matrix(call, scales, q->scales, IGO_FLOATS, n, k / q->group, "groups per row")) {
        return false;
    }
    IGO_REQUIRE(call, q->packed->offset % 4 == 0 || !igo_count(q->packed),
                "%s starts at byte %llu, which is no multiple of 4", packed,
                (unsigned long long)q->packed->offset);
    return !q->biases ||
           (check_matrix(call, biases, q->biases, IGO_FLOATS, n, k / q->group, "groups per row") &&
            igo_same_type(call, biases, q->biases, scales, q->scales));
}

void igo_quantised_constants(struct igo_launch *launch, const ingot_quantised *q) {
    igo_launch_constant_u32(launch, "bits", q->bits);
    igo_launch_constant_bool(launch, "has_biases", q->biases != NULL);
}

/* ---- the operations ---- */

static bool check(struct igo_call *call, const char *name, const ingot_tensor *dense,
                  const ingot_quantised *q) {
    if (!igo_tensor(call, name, dense, IGO_FLOATS, 2, 2) || !igo_dense(call, name, dense) ||
        !igo_quantised(call, "", q, dense->shape[0], dense->shape[1])) {
        return false;
    }
    return IGO_REQUIRE(call, q->scales->type == dense->type || q->scales->type == INGOT_SCALAR_F32,
                       "scales have type %s; they may be f32 or %s's own %s",
                       igo_type_name(q->scales->type), name, igo_type_name(dense->type));
}

static void choose(struct igo_call *call, struct igo_launch *launch, const char *kernel,
                   const ingot_tensor *dense, const ingot_quantised *q) {
    struct igo_class words = {0};
    igo_class_number(&words, "bits", q->bits);
    igo_class_number(&words, "by", q->group);
    igo_policy(call, dense->type, &words);
    igo_launch_kernel(launch, "%s_%s_%s", kernel, igo_type_name(dense->type),
                      igo_type_name(q->scales->type));
    igo_quantised_constants(launch, q);
}

ingot_status ingot_op_quantise(ingot_ops *ops, ingot_stream *stream,
                               const ingot_quantise_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_quantise, &operations[QUANTISE], desc);
    if (call.failed || !check(&call, "x", desc->x, &desc->out) || !igo_count(desc->x)) {
        return igo_end(&call);
    }
    const ingot_quantised *q = &desc->out;
    igo_no_overlap(&call, "packed", q->packed, "x", desc->x, false);
    igo_no_overlap(&call, "scales", q->scales, "x", desc->x, false);
    igo_no_overlap(&call, "packed", q->packed, "scales", q->scales, false);
    igo_no_overlap(&call, "biases", q->biases, "x", desc->x, false);
    struct igo_launch launch = {0};
    choose(&call, &launch, "quantise", desc->x, q);
    const struct quantise_args args = {.groups = (uint64_t)igo_count(q->scales),
                                       .group_size = q->group};
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_tensor(&launch, q->packed, NULL);
    igo_launch_tensor(&launch, q->scales, NULL);
    igo_launch_tensor(&launch, q->biases, q->scales);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_threads(&launch, args.groups * (q->group * q->bits / 32),
                       igo_knob(&call, KNOB_GROUP));
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

ingot_status ingot_op_dequantise(ingot_ops *ops, ingot_stream *stream,
                                 const ingot_dequantise_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_quantise, &operations[DEQUANTISE], desc);
    if (call.failed || !check(&call, "out", desc->out, &desc->x) || !igo_count(desc->out)) {
        return igo_end(&call);
    }
    const ingot_quantised *q = &desc->x;
    igo_no_overlap(&call, "out", desc->out, "packed", q->packed, false);
    igo_no_overlap(&call, "out", desc->out, "scales", q->scales, false);
    igo_no_overlap(&call, "out", desc->out, "biases", q->biases, false);
    struct igo_launch launch = {0};
    choose(&call, &launch, "dequantise", desc->out, q);
    const bool lanes = !call.failed && igo_knob(&call, KNOB_LANES);
    if (lanes) {
        igo_launch_kernel(&launch, "dequantise_lanes_%s_%s", igo_type_name(desc->out->type),
                          igo_type_name(q->scales->type));
        launch.whole_simdgroups = true;
    }
    const struct quantise_args args = {.groups = (uint64_t)igo_count(q->scales),
                                       .group_size = q->group};
    igo_launch_tensor(&launch, q->packed, NULL);
    igo_launch_tensor(&launch, q->scales, NULL);
    igo_launch_tensor(&launch, q->biases, q->scales);
    igo_launch_tensor(&launch, desc->out, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    const uint64_t words = args.groups * (q->group * q->bits / 32);
    igo_launch_threads(&launch, lanes ? (words + 31) / 32 * 32 : words,
                       igo_knob(&call, KNOB_GROUP));
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

/* ---- many rows ---- */

struct product {
    const ingot_quantised_matmul_desc *desc;
    ingot_tensor x, out; /* as matrices [m, k] and [m, n] */
    int64_t m, n, k;
};

static ingot_tensor as_matrix(const ingot_tensor *t, int64_t rows, int64_t stride) {
    ingot_tensor matrix = *t;
    matrix.rank = 2;
    matrix.shape[1] = t->shape[t->rank - 1];
    matrix.shape[0] = rows;
    matrix.strides[0] = stride;
    matrix.strides[1] = 1;
    return matrix;
}

static bool check_product(struct igo_call *call, struct product *p) {
    const ingot_quantised_matmul_desc *d = p->desc;
    int64_t x_stride = 0, out_stride = 0;
    igo_tensor(call, "x", d->x, IGO_FLOATS, 1, INGOT_MAX_RANK);
    igo_tensor(call, "out", d->out, IGO_FLOATS, 1, INGOT_MAX_RANK);
    if (call->failed) {
        return false;
    }
    p->m = igo_rows(d->x);
    p->k = d->x->shape[d->x->rank - 1];
    p->n = d->out->shape[d->out->rank - 1];
    igo_same_type(call, "out", d->out, "x", d->x);
    IGO_REQUIRE(call, igo_rows(d->out) == p->m, "out has %lld rows, but x has %lld",
                (long long)igo_rows(d->out), (long long)p->m);
    IGO_REQUIRE(call, igo_row_stride(d->x, &x_stride) && igo_row_stride(d->out, &out_stride),
                "x and out must have one stride from row to row, and neighbours within a row");
    IGO_REQUIRE(call, d->epilogue <= INGOT_EPILOGUE_GELU_TANH, "epilogue is %d; it must be 0 to %d",
                (int)d->epilogue, (int)INGOT_EPILOGUE_GELU_TANH);
    igo_quantised(call, "weights.", &d->weights, p->n, p->k);
    igo_no_overlap(call, "out", d->out, "x", d->x, false);
    p->x = as_matrix(d->x, p->m, x_stride);
    p->out = as_matrix(d->out, p->m, out_stride);
    return !call->failed;
}

/* Rows `first` to `first + rows` of a dense matrix. */
static ingot_tensor rows_of(const ingot_tensor *t, int64_t first, int64_t rows, size_t element) {
    ingot_tensor part = *t;
    part.offset += (uint64_t)(first * t->strides[0]) * element;
    part.shape[0] = rows;
    return part;
}

static size_t float_size(ingot_scalar_type type) {
    return type == INGOT_SCALAR_F32 ? 4 : 2;
}

static ingot_status multiply_panel(struct igo_call *call, const struct product *p, int64_t first,
                                   int64_t rows, const ingot_tensor *room) {
    const ingot_quantised *w = &p->desc->weights;
    const size_t element = float_size(p->x.type), scale = float_size(w->scales->type);
    ingot_tensor packed =
        rows_of(w->packed, first, rows, w->packed->type == INGOT_SCALAR_U8 ? 1 : 4);
    ingot_tensor scales = rows_of(w->scales, first, rows, scale), biases = {0}, bias = {0};
    if (w->biases) {
        biases = rows_of(w->biases, first, rows, scale);
    }
    ingot_tensor numbers = *room, out = p->out;
    numbers.shape[0] = out.shape[1] = rows;
    out.offset += (uint64_t)first * element;
    if (p->desc->bias) {
        bias = *p->desc->bias;
        bias.offset += (uint64_t)first * element;
        bias.shape[0] = rows;
    }
    const ingot_dequantise_desc turn = {.x = {.packed = &packed,
                                              .scales = &scales,
                                              .biases = w->biases ? &biases : NULL,
                                              .bits = w->bits,
                                              .group = w->group},
                                        .out = &numbers};
    const ingot_matmul_desc product = {.a = &p->x,
                                       .b = &numbers,
                                       .bias = p->desc->bias ? &bias : NULL,
                                       .out = &out,
                                       .transpose_b = true,
                                       .epilogue = p->desc->epilogue};
    ingot_status status = ingot_op_dequantise(call->ops, call->stream, &turn);
    return status ? status : ingot_op_matmul(call->ops, call->stream, &product);
}

static ingot_status multiply_few(struct igo_call *call, const struct product *p) {
    const ingot_quantised_matvec_desc desc = {
        .x = &p->x, .weights = p->desc->weights, .bias = p->desc->bias, .out = &p->out};
    return ingot_op_quantised_matvec(call->ops, call->stream, &desc);
}

extern const struct igo_library igo_library_matmul;

enum { UNIT_COLUMNS = 128 }; /* quantise_units.h: as many as a threadgroup can have */

/* How x lies as the right side: what lays it out, and how many columns of it lie together. */
struct right_side {
    const char *kernel; /* of matmul */
    uint32_t line;
    uint32_t parts; /* that an element becomes */
};

static ingot_tensor lay_out(struct igo_call *call, const struct product *p,
                            const struct right_side *side, uint32_t columns) {
    const uint32_t lines = (columns + side->line - 1) / side->line, depth = 256;
    ingot_tensor x = igo_scratch_tensor(
        call, p->x.type, 1, (const int64_t[]){(int64_t)lines * side->line * p->k * side->parts});
    const struct matmul_args args = {.n = (uint32_t)p->m,
                                     .k = (uint32_t)p->k,
                                     .batch = 1,
                                     .b_stride = (uint64_t)p->x.strides[0],
                                     .b_transposed = 1};
    struct igo_launch launch = {.library = &igo_library_matmul,
                                .group = {32, 1, 1},
                                .whole_simdgroups = true,
                                .threadgroups = {(uint32_t)((p->k + depth - 1) / depth), lines, 1}};
    igo_launch_kernel(&launch, "%s", side->kernel);
    igo_launch_tensor(&launch, &p->x, NULL);
    igo_launch_tensor(&launch, &x, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(call, &launch);
    return x;
}

/* The sums of x over groups, for products by pairs. */
static ingot_tensor add_groups(struct igo_call *call, const struct product *p, uint32_t columns,
                               uint32_t blocks) {
    enum { LANES = 32 };
    const uint32_t groups = (uint32_t)p->k / p->desc->weights.group;
    ingot_tensor sums = igo_scratch_tensor(call, INGOT_SCALAR_F32, 1,
                                           (const int64_t[]){(int64_t)groups * blocks * LANES});
    const struct matmul_args args = {.n = (uint32_t)p->m, .b_stride = (uint64_t)p->x.strides[0]};
    struct igo_launch launch = {
        .group = {LANES, 1, 1}, .whole_simdgroups = true, .threadgroups = {blocks, groups, 1}};
    igo_launch_kernel(&launch, "quantised_sums_%u_bf16", columns);
    igo_launch_constant_u32(&launch, "bits", 8);
    igo_launch_constant_bool(&launch, "has_biases", false);
    igo_launch_tensor(&launch, &p->x, NULL);
    igo_launch_tensor(&launch, &sums, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_bytes(&launch, &p->desc->weights.group, sizeof p->desc->weights.group);
    igo_dispatch(call, &launch);
    return sums;
}

static void check_bias(struct igo_call *call, const struct product *p) {
    if (p->desc->bias && igo_tensor(call, "bias", p->desc->bias, IGO_FLOATS, 1, 1)) {
        igo_same_type(call, "bias", p->desc->bias, "x", &p->x);
        igo_extent(call, "bias", p->desc->bias, 0, p->n, "the columns of out");
        igo_dense(call, "bias", p->desc->bias);
        igo_no_overlap(call, "out", &p->out, "bias", p->desc->bias, false);
    }
}

/* By blocks that weights become numbers for on their way. */
static bool multiply_blocks(struct igo_call *call, const struct product *p) {
    const struct igo_quantised_product product = {.x = p->x,
                                                  .out = p->out,
                                                  .weights = &p->desc->weights,
                                                  .bias = p->desc->bias,
                                                  .m = p->m,
                                                  .n = p->n,
                                                  .k = p->k,
                                                  .epilogue = p->desc->epilogue};
    enum { PIECE = 8 }; /* columns that matmul's blocks want whole: it is slow with others */
    const uint32_t wide = igo_knob(call, KNOB_WIDE);
    const bool some = p->m <= igo_knob(call, KNOB_ROWS);
    const bool many = p->m <= wide || (wide && p->n % PIECE);
    if (!some && !many) {
        return false;
    }
    check_bias(call, p);
    return (some && igo_quantised_rows(call, &product, igo_knob(call, KNOB_FILL))) ||
           (many && igo_quantised_wide(call, &product));
}

/* The kernels whose left side are weights: by matrix units, with all rows of x at once, or by
 * pairs. Columns of the product, which are rows of x, of a threadgroup, and its rows. */
struct left_weights {
    struct right_side side;
    uint32_t columns, rows;
};

static bool choose_weights(struct igo_call *call, const struct product *p,
                           struct igo_launch *launch, struct left_weights *chosen) {
    const ingot_quantised *w = &p->desc->weights;
    const uint32_t few = p->m <= 8 ? 8 : p->m <= 16 ? 16 : 32;
    const bool halves = p->x.type == INGOT_SCALAR_F16;
    *chosen = (struct left_weights){
        {halves ? "matmul_units_right_f16" : "matmul_units_right_bf16", 32, halves ? 2 : 1},
        UNIT_COLUMNS,
        32};
    igo_launch_kernel(launch, "quantised_units_%s_%s", igo_type_name(p->x.type),
                      igo_type_name(w->scales->type));
    igo_quantised_constants(launch, w);
    if (igo_knob(call, KNOB_UNITS) && p->m > 8 && p->m <= UNIT_COLUMNS &&
        igo_has_kernel(call, launch)) {
        return true;
    }
    if (halves) {
        return false;
    }
    *chosen = (struct left_weights){{few == 8    ? "matmul_pairs_right_8_bf16"
                                     : few == 16 ? "matmul_pairs_right_16_bf16"
                                                 : "matmul_pairs_right_32_bf16",
                                     few, 1},
                                    few,
                                    64};
    launch->constant_count = 0;
    igo_launch_kernel(launch, "quantised_pairs_%u_bf16_bf16", few);
    igo_quantised_constants(launch, w);
    return igo_has_kernel(call, launch);
}

/* Products of 16 bits with the weights as the left side: whether there is code for it, and it was
 * made. */
static bool multiply_left(struct igo_call *call, const struct product *p) {
    const ingot_quantised *w = &p->desc->weights;
    struct left_weights chosen;
    struct igo_launch launch = {.group = {32, 1, 1}, .whole_simdgroups = true};
    if (p->x.type == INGOT_SCALAR_F32 || w->scales->type != p->x.type || !p->k ||
        p->n > INT32_MAX || p->k > INT32_MAX || !choose_weights(call, p, &launch, &chosen)) {
        return false;
    }
    check_bias(call, p);
    const uint32_t blocks = (uint32_t)((p->m + chosen.columns - 1) / chosen.columns);
    const uint32_t rows = (uint32_t)((p->n + chosen.rows - 1) / chosen.rows);
    const bool units = chosen.columns == UNIT_COLUMNS;
    launch.threadgroups[0] = units ? rows : blocks;
    launch.threadgroups[1] = units ? 1 : rows;
    launch.threadgroups[2] = 1;
    ingot_tensor x =
        lay_out(call, p, &chosen.side, units ? (uint32_t)p->m : blocks * chosen.columns);
    const struct matmul_args args = {.m = (uint32_t)p->n,
                                     .n = (uint32_t)p->m,
                                     .k = (uint32_t)p->k,
                                     .batch = 1,
                                     .parts = 1,
                                     .part_depth = (uint32_t)p->k,
                                     .out_stride = (uint64_t)p->out.strides[0],
                                     .has_bias = p->desc->bias != NULL,
                                     .bias_step = 1,
                                     .epilogue = (uint32_t)p->desc->epilogue,
                                     .out_transposed = 1};
    igo_launch_tensor(&launch, w->packed, NULL);
    igo_launch_tensor(&launch, w->scales, NULL);
    igo_launch_tensor(&launch, w->biases, w->scales);
    igo_launch_tensor(&launch, &x, NULL);
    igo_launch_tensor(&launch, p->desc->bias, &p->out);
    igo_launch_tensor(&launch, &p->out, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_bytes(&launch, &w->group, sizeof w->group);
    ingot_tensor sums = {0};
    if (!units) {
        sums = add_groups(call, p, chosen.columns, blocks);
        igo_launch_tensor(&launch, &sums, NULL);
    }
    igo_dispatch(call, &launch);
    igo_scratch_release(call, x.buffer);
    igo_scratch_release(call, sums.buffer);
    return true;
}

ingot_status ingot_op_quantised_matmul(ingot_ops *ops, ingot_stream *stream,
                                       const ingot_quantised_matmul_desc *desc) {
    struct igo_call call;
    struct product p = {.desc = desc};
    igo_begin(&call, ops, stream, &igo_library_quantise, &operations[MATMUL], desc);
    if (call.failed || !check_product(&call, &p) || !igo_count(desc->out)) {
        return igo_end(&call);
    }
    struct igo_class words = {0};
    igo_class_size(&words, "m", (uint64_t)p.m, 4096);
    igo_class_size(&words, "k", (uint64_t)p.k, 1u << 16);
    igo_policy(&call, desc->x->type, &words);
    const int64_t panel = igo_knob(&call, KNOB_PANEL);
    if (p.m <= igo_knob(&call, KNOB_FEW) && desc->epilogue == INGOT_EPILOGUE_NONE) {
        return multiply_few(&call, &p);
    }
    if (multiply_blocks(&call, &p)) {
        return igo_end(&call);
    }
    if (p.m >= igo_knob(&call, KNOB_FROM) && p.m <= igo_knob(&call, KNOB_PAIRS) &&
        multiply_left(&call, &p)) {
        return igo_end(&call);
    }
    ingot_tensor room = igo_scratch_tensor(&call, desc->x->type, 2,
                                           (const int64_t[]){p.n < panel ? p.n : panel, p.k});
    ingot_status status = INGOT_OK;
    for (int64_t first = 0; first < p.n && !status && !call.failed; first += panel) {
        status = multiply_panel(&call, &p, first, p.n - first < panel ? p.n - first : panel, &room);
    }
    igo_scratch_release(&call, room.buffer);
    if (status) {
        igo_fail(&call, status, "%s", ingot_error_message());
    }
    igo_keep_last_launch(&call);
    return igo_end(&call);
}
