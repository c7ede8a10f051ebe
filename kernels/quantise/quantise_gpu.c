/* Products of rows with quantised weights on GPUs with matrix units: some (quantise_rows.h) or many
 * (quantise_wide.h). */
#include "matmul/matmul_args.h"
#include "quantise/quantise.h"
#include "quantise/quantise_args.h"

extern const struct igo_library igo_library_quantise, igo_library_matmul;

/* A kernel: the rows of x and of the weights of a block, what a panel has of k, and the lengths of
 * its threadgroup memory. */
struct shape {
    const char *name;
    uint32_t columns, rows, depth;
    uint32_t lengths[6];
};

/* quantise_rows.h: for two panels of x, or the sums of all SIMD-groups. */
#define PANELS_BYTES(columns, depth)      (2 * (columns) * ((depth) / 2 + 4) * 4)
#define SUMS_BYTES(columns, rows, slices) ((slices) * (columns) * ((rows) + 4) * 4)
#define LARGER(a, b)                      ((a) > (b) ? (a) : (b))
#define ROWS_SHAPE(columns, rows, depth)                                                           \
    {                                                                                              \
        "rows", columns, rows, depth, {                                                            \
            LARGER(PANELS_BYTES(columns, depth),                                                   \
                   SUMS_BYTES(columns, rows, (depth) / QUANTISED_SLICE))                           \
        }                                                                                          \
    }
/* quantise_wide.h: three panels of x, and the result 64 columns at a time; three of the weights. */
#define WIDE_BYTES(columns) ((columns) * QUANTISED_SLICE * 2)
#define WEIGHTS_BYTES       (128 * QUANTISED_SLICE)
#define WIDE_SHAPE(columns)                                                                        \
    {                                                                                              \
        "wide", columns, 128, QUANTISED_SLICE, {                                                   \
            LARGER(WIDE_BYTES(columns), SUMS_BYTES(64, 128, 1)), WIDE_BYTES(columns),              \
                WIDE_BYTES(columns), WEIGHTS_BYTES, WEIGHTS_BYTES, WEIGHTS_BYTES                   \
        }                                                                                          \
    }
static const struct shape some[] = {ROWS_SHAPE(8, 32, 512), ROWS_SHAPE(16, 32, 512),
                                    ROWS_SHAPE(32, 64, 256), ROWS_SHAPE(64, 128, 128)};
static const struct shape many[] = {WIDE_SHAPE(64), WIDE_SHAPE(128), WIDE_SHAPE(256)};
enum { SOME = sizeof some / sizeof *some, MANY = sizeof many / sizeof *many, LEAST_PANELS = 2 };

static uint32_t blocks(int64_t extent, uint32_t size) {
    return (uint32_t)((extent + size - 1) / size);
}

static uint32_t threadgroup_memory(const struct shape *shape) {
    uint32_t bytes = 0;
    for (int i = 0; i < 6; i++) {
        bytes += shape->lengths[i];
    }
    return bytes;
}

static bool is_possible(const struct igo_call *call, const struct igo_quantised_product *p,
                        const struct shape *shape) {
    const int64_t x_end = p->m * (p->m > 1 ? p->x.strides[0] : p->k);
    return !call->failed && p->x.type != INGOT_SCALAR_F32 &&
           p->weights->scales->type == p->x.type && p->m && p->n &&
           p->k >= (shape->lengths[1] ? QUANTISED_SLICE : 1) && p->n * p->k / 4 < INT32_MAX &&
           x_end < INT32_MAX && igo_aligned(&p->x, 16) && igo_aligned(p->weights->packed, 16) &&
           threadgroup_memory(shape) <= igo_threadgroup_memory(call);
}

/* Parts of k, so that there are at most as many threadgroups as are wanted, of whole panels. */
static void split(struct matmul_args *args, const struct shape *shape, uint32_t wanted) {
    const uint64_t there = (uint64_t)blocks(args->n, shape->rows) * blocks(args->m, shape->columns);
    const uint32_t panels = blocks(args->k, shape->depth);
    uint32_t parts = (uint32_t)(wanted / there);
    parts = parts < panels / LEAST_PANELS ? parts : panels / LEAST_PANELS;
    args->part_depth = args->k;
    args->parts = 1;
    if (parts > 1) {
        args->part_depth = blocks(panels, parts) * shape->depth;
        args->parts = blocks(args->k, args->part_depth);
    }
}

static void reduce(struct igo_call *call, const struct igo_quantised_product *p,
                   const struct matmul_args *args, ingot_buffer *sums) {
    struct igo_launch launch = {.library = &igo_library_matmul, .threads = {args->n, args->m, 1}};
    igo_launch_kernel(&launch, "matmul_reduce_%s", igo_type_name(p->x.type));
    igo_launch_buffer(&launch, sums, 0);
    igo_launch_tensor(&launch, p->bias, &p->out);
    igo_launch_tensor(&launch, &p->out, NULL);
    igo_launch_bytes(&launch, args, sizeof *args);
    launch.group[0] = args->n < 256 ? (args->n + 31) / 32 * 32 : 256;
    launch.group[1] = launch.group[2] = 1;
    igo_dispatch(call, &launch);
}

static void choose(const struct igo_quantised_product *p, const struct shape *shape,
                   struct igo_launch *launch) {
    *launch = (struct igo_launch){.library = &igo_library_quantise,
                                  .group = {QUANTISED_ROWS_THREADS, 1, 1},
                                  .whole_simdgroups = true};
    igo_launch_kernel(launch, "quantised_%s_%u_%s", shape->name, shape->columns,
                      igo_type_name(p->x.type));
    igo_quantised_constants(launch, p->weights);
    for (int i = 0; i < 6 && shape->lengths[i]; i++) {
        launch->threadgroup_lengths[launch->threadgroup_length_count++] = shape->lengths[i];
    }
}

static struct matmul_args args_of(const struct igo_quantised_product *p) {
    return (struct matmul_args){.m = (uint32_t)p->m,
                                .n = (uint32_t)p->n,
                                .k = (uint32_t)p->k,
                                .batch = 1,
                                .a_stride = p->m > 1 ? (uint64_t)p->x.strides[0] : 0,
                                .out_stride = p->m > 1 ? (uint64_t)p->out.strides[0] : 0,
                                .has_bias = p->bias != NULL,
                                .bias_step = 1,
                                .epilogue = (uint32_t)p->epilogue};
}

static uint32_t large_of(const struct igo_quantised_product *p, const struct shape *shape) {
    const bool half = p->x.type == INGOT_SCALAR_F16;
    if (shape->lengths[1] && p->weights->bits == 4) {
        return half ? QUANTISED_LARGE_HIGH_F16 : QUANTISED_LARGE_HIGH_BF16;
    }
    return half ? QUANTISED_LARGE_F16 : QUANTISED_LARGE_BF16;
}

static bool multiply(struct igo_call *call, const struct igo_quantised_product *p,
                     const struct shape *shape, uint32_t fill) {
    struct igo_launch launch;
    choose(p, shape, &launch);
    if (!is_possible(call, p, shape) || !igo_has_kernel(call, &launch)) {
        return false;
    }
    struct matmul_args args = args_of(p);
    const struct quantised_rows_args more = {
        .group_shift = (uint32_t)__builtin_ctz(p->weights->group), .large = large_of(p, shape)};
    split(&args, shape, fill);
    launch.threadgroups[0] = blocks(p->n, shape->rows);
    launch.threadgroups[1] = blocks(p->m, shape->columns);
    launch.threadgroups[2] = args.parts;
    ingot_buffer *sums = NULL;
    if (args.parts > 1) {
        sums = igo_scratch(call, 4ull * args.parts * args.m * args.n);
    }
    igo_launch_tensor(&launch, &p->x, NULL);
    igo_launch_tensor(&launch, p->weights->packed, NULL);
    igo_launch_tensor(&launch, p->weights->scales, NULL);
    igo_launch_tensor(&launch, p->weights->biases, p->weights->scales);
    igo_launch_tensor(&launch, p->bias, &p->out);
    igo_launch_tensor(&launch, &p->out, NULL);
    if (sums) {
        igo_launch_buffer(&launch, sums, 0);
    } else {
        igo_launch_tensor(&launch, &p->out, NULL);
    }
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_bytes(&launch, &more, sizeof more);
    igo_dispatch(call, &launch);
    if (sums) {
        reduce(call, p, &args, sums);
    }
    igo_scratch_release(call, sums);
    return true;
}

bool igo_quantised_rows(struct igo_call *call, const struct igo_quantised_product *p,
                        uint32_t fill) {
    const struct shape *shape = some;
    while (shape < some + SOME - 1 && shape->columns < p->m) {
        shape++;
    }
    return multiply(call, p, shape, fill);
}

/* About how long it takes: columns of a block and k of all threadgroups that run one after the
 * other. Narrow blocks take longer than their columns say. */
static uint64_t time_of(const struct igo_quantised_product *p, const struct shape *shape,
                        uint32_t units) {
    enum { OVERHEAD = 48 };
    struct matmul_args args = args_of(p);
    split(&args, shape, units);
    const uint64_t groups =
        (uint64_t)blocks(p->n, shape->rows) * blocks(p->m, shape->columns) * args.parts;
    return (groups + units - 1) / units * args.part_depth * (shape->columns + OVERHEAD);
}

bool igo_quantised_wide(struct igo_call *call, const struct igo_quantised_product *p) {
    const uint32_t units = igo_device_info(call)->compute_units;
    const struct shape *best = many;
    for (const struct shape *shape = many + 1; shape < many + MANY; shape++) {
        best = time_of(p, shape, units) <= time_of(p, best, units) ? shape : best;
    }
    return multiply(call, p, best, units);
}
