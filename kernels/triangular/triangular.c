/* triangular_solve on the host. */
#include "triangular/triangular.h"

#include "common/float_view.h"
#include "common/matrices.h"
#include "convert/convert.h"
#include "triangular/product.h"
#include "triangular/triangular_args.h"

enum { KNOB_SIMD, KNOB_BLOCKS };
static const ingot_ops_knob knobs[] = {
    {.name = "simd",
     .help = "SIMD-groups per threadgroup, one for each strip of 32 columns",
     .fallback = 1,
     .minimum = 1,
     .maximum = 8,
     .power_of_two = true},
    {.name = "blocks",
     .help = "the least n from which diagonal blocks of 64 are inverted and the rest is products",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1 << 24},
};

static const struct ingot_ops_info operations[] = {
    {.name = "triangular_solve",
     .family = "linear algebra",
     .summary = "op(a) x = b or x op(a) = b, a triangular",
     .limits = "extents up to 2^24",
     .variants = "a lane per right-hand side, or blocks of 64 rows for GPUs",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_triangular = {
    .name = "triangular", .operations = operations, .operation_count = 1, .convert = igo_convert};

/* Strides that make a lower system of any. */
static struct triangular_args arguments(const struct igo_triangular *system) {
    const int64_t n = system->n, columns = igo_matrix_columns(system->x);
    const int64_t a_row = system->a_row ? system->a_row : igo_matrix_columns(system->a);
    struct triangular_args args = {.a_row = system->transposed ? 1 : a_row,
                                   .a_column = system->transposed ? a_row : 1,
                                   .a_matrix = igo_matrix_rows(system->a) * a_row,
                                   .x_row = columns,
                                   .x_matrix = igo_matrix_rows(system->x) * columns,
                                   .n = (uint32_t)n,
                                   .columns = (uint32_t)columns,
                                   .unit = system->unit};
    if (system->upper != system->transposed) { /* from the last row up */
        args.a_first = (n - 1) * (args.a_row + args.a_column);
        args.x_first = (n - 1) * args.x_row;
        args.a_row = -args.a_row;
        args.a_column = -args.a_column;
        args.x_row = -args.x_row;
    }
    return args;
}

static int64_t least(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static uint32_t blocks(uint32_t n) {
    return (n + TRIANGULAR_BLOCK - 1) / TRIANGULAR_BLOCK;
}

static ingot_buffer *invert_blocks(struct igo_call *call, const struct igo_triangular *system,
                                   const struct triangular_args *args) {
    const uint64_t batch = (uint64_t)igo_batch(system->x, 2);
    ingot_buffer *inverses = igo_scratch(call, sizeof(float) * batch * blocks(args->n) *
                                                   TRIANGULAR_BLOCK * TRIANGULAR_BLOCK);
    struct igo_launch launch = {.library = &igo_library_triangular,
                                .kernel = "triangular_invert",
                                .group = {256, 1, 1},
                                .threadgroups = {(uint32_t)batch, blocks(args->n), 1},
                                .whole_simdgroups = true};
    igo_launch_tensor(&launch, system->a, NULL);
    igo_launch_buffer(&launch, inverses, 0);
    igo_launch_bytes(&launch, args, sizeof *args);
    igo_dispatch(call, &launch);
    return inverses;
}

/* A launch for each block; b goes through scratch memory. */
static void solve_few(struct igo_call *call, const struct igo_triangular *system,
                      struct triangular_args args, ingot_buffer *inverses) {
    const uint32_t batch = (uint32_t)igo_batch(system->x, 2), group_rows = 8 * TRIANGULAR_ROWS;
    ingot_buffer *work = igo_scratch(call, sizeof(float) * (uint64_t)batch * args.n * args.columns);
    struct igo_launch begin = {.library = &igo_library_triangular,
                               .kernel = "triangular_begin",
                               .group = {256, 1, 1},
                               .threads = {args.n * args.columns, batch, 1}};
    igo_launch_tensor(&begin, system->b, NULL);
    igo_launch_buffer(&begin, work, 0);
    igo_launch_bytes(&begin, &args, sizeof args);
    igo_dispatch(call, &begin);
    for (; args.first < args.n && !call->failed; args.first += TRIANGULAR_BLOCK) {
        const uint32_t done = args.first + TRIANGULAR_BLOCK;
        const uint32_t rest = args.n > done ? args.n - done : 0;
        struct igo_launch launch = {
            .library = &igo_library_triangular,
            .kernel = args.columns <= 4 ? "triangular_few_4" : "triangular_few_8",
            .group = {256, 1, 1},
            .threadgroups = {batch, rest ? (rest + group_rows - 1) / group_rows : 1, 1},
            .whole_simdgroups = true};
        igo_launch_tensor(&launch, system->a, NULL);
        igo_launch_buffer(&launch, inverses, 0);
        igo_launch_buffer(&launch, work, 0);
        igo_launch_tensor(&launch, system->x, NULL);
        igo_launch_bytes(&launch, &args, sizeof args);
        igo_dispatch(call, &launch);
    }
    if (work) {
        igo_scratch_release(call, work);
    }
}

/* Two products for each block, in x. */
static void solve_many(struct igo_call *call, const struct igo_triangular *system,
                       const struct triangular_args *args, ingot_buffer *inverses) {
    const ingot_tensor *x = system->x, *b = system->b, *a = system->a;
    if (x->buffer != b->buffer || x->offset != b->offset) {
        igo_convert(call, b, x);
    }
    const struct igo_block all_a = {.memory = {.buffer = a->buffer, .offset = a->offset},
                                    .first = args->a_first,
                                    .row = args->a_row,
                                    .column = args->a_column,
                                    .matrix = args->a_matrix};
    const struct igo_block all_x = {.memory = {.buffer = x->buffer, .offset = x->offset},
                                    .first = args->x_first,
                                    .row = args->x_row,
                                    .column = 1,
                                    .matrix = args->x_matrix};
    /* Blocks update the rest of their panel, and panels the rest of x. */
    const int64_t n = args->n, block = TRIANGULAR_BLOCK, panel = 4 * block;
    for (int64_t first = 0; first < n && !call->failed; first += block) {
        const int64_t count = least(n - first, block), end = first + count;
        const int64_t start = first / panel * panel, stop = least(n, start + panel);
        const struct igo_block mine = igo_block_at(all_x, first, 0);
        struct igo_product p = {
            .a = igo_block_transposed(
                igo_block_in(inverses, first * block, block, blocks(args->n) * block * block)),
            .b = mine,
            .c = mine,
            .m = (uint32_t)count,
            .n = args->columns,
            .k = (uint32_t)count,
            .batch = (uint32_t)igo_batch(x, 2),
            .alpha = 1};
        igo_product(call, &p);
        p.alpha = -1;
        p.add = true;
        p.a = igo_block_at(all_a, end, first);
        p.c = igo_block_at(all_x, end, 0);
        p.m = (uint32_t)(stop - end);
        if (end == stop) {
            p.a = igo_block_at(all_a, end, start);
            p.b = igo_block_at(all_x, start, 0);
            p.m = (uint32_t)(n - end);
            p.k = (uint32_t)(end - start);
        }
        igo_product(call, &p);
    }
}

static void solve_in_blocks(struct igo_call *call, const struct igo_triangular *system,
                            const struct triangular_args *args) {
    ingot_buffer *inverses = invert_blocks(call, system, args);
    if (args->columns <= TRIANGULAR_FEW) {
        solve_few(call, system, *args, inverses);
    } else {
        solve_many(call, system, args, inverses);
    }
    if (inverses) {
        igo_scratch_release(call, inverses);
    }
}

bool igo_triangular_solve(struct igo_call *call, const struct igo_triangular *system) {
    const struct triangular_args args = arguments(system);
    if (system->blocks && args.n >= system->blocks) {
        solve_in_blocks(call, system, &args);
        return !call->failed;
    }
    const uint32_t strips = (args.columns + 31) / 32;
    const uint32_t simds = system->simds < strips ? system->simds : strips;
    struct igo_launch launch = {
        .library = &igo_library_triangular, .kernel = "triangular_solve", .whole_simdgroups = true};
    igo_launch_tensor(&launch, system->a, NULL);
    igo_launch_tensor(&launch, system->b, NULL);
    igo_launch_tensor(&launch, system->x, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = (uint32_t)igo_batch(system->x, 2);
    launch.threadgroups[1] = (strips + simds - 1) / simds;
    launch.threadgroups[2] = 1;
    return igo_dispatch(call, &launch);
}

static bool check(struct igo_call *call, const ingot_triangular_solve_desc *desc) {
    char text[160];
    if (!igo_check_matrix(call, "a", desc->a) || !igo_check_matrix(call, "b", desc->b)) {
        return false;
    }
    const int64_t n = igo_matrix_rows(desc->a);
    const int64_t rows = igo_matrix_rows(desc->b), columns = igo_matrix_columns(desc->b);
    IGO_REQUIRE(call, igo_matrix_columns(desc->a) == n,
                "a has shape %s; its matrices must be square", igo_shape_text(desc->a, text));
    if (!igo_matrix_like(call, "b", desc->b, "a", desc->a, desc->right ? rows : n,
                         desc->right ? n : columns)) {
        return false;
    }
    igo_matrix_like(call, "x", desc->x, "a", desc->a, rows, columns);
    if (call->failed) {
        return false;
    }
    igo_distinct(call, "x", desc->x);
    igo_no_overlap(call, "x", desc->x, "a", desc->a, false);
    return igo_no_overlap(call, "x", desc->x, "b", desc->b, true);
}

ingot_status ingot_op_triangular_solve(ingot_ops *ops, ingot_stream *stream,
                                       const ingot_triangular_solve_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_triangular, &operations[0], desc);
    if (call.failed || !check(&call, desc) || igo_count(desc->x) == 0) {
        return igo_end(&call);
    }
    /* x op(a) = b is op(a)' x' = b' */
    const ingot_tensor b_transposed = igo_transposed(desc->b),
                       x_transposed = igo_transposed(desc->x);
    const ingot_tensor *b = desc->right ? &b_transposed : desc->b;
    const ingot_tensor *x = desc->right ? &x_transposed : desc->x;
    struct igo_class class_text = {0};
    igo_class_size(&class_text, "n", (uint64_t)igo_matrix_rows(x), 4096);
    igo_class_size(&class_text, "k", (uint64_t)igo_matrix_columns(x), 4096);
    igo_policy(&call, desc->a->type, &class_text);

    struct igo_float_view view_a = {0}, view_b = {0}, view_x = {0};
    igo_view_input(&call, desc->a, &view_a);
    igo_view_input(&call, b, &view_b);
    igo_view_output(&call, x, &view_x);
    const struct igo_triangular system = {.a = &view_a.tensor,
                                          .b = &view_b.tensor,
                                          .x = &view_x.tensor,
                                          .n = igo_matrix_rows(x),
                                          .upper = desc->upper,
                                          .transposed = desc->transposed != desc->right,
                                          .unit = desc->unit,
                                          .simds = igo_knob(&call, KNOB_SIMD),
                                          .blocks = igo_knob(&call, KNOB_BLOCKS)};
    if (!call.failed) {
        igo_triangular_solve(&call, &system);
    }
    igo_view_store(&call, &view_x);
    igo_view_release(&call, &view_a);
    igo_view_release(&call, &view_b);
    igo_view_release(&call, &view_x);
    return igo_end(&call);
}
