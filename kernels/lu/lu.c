/* lu and solve on the host: one matrix per SIMD-group, or the blocked form in panels of 32 columns.
 */
#include "lu/lu.h"

#include "common/float_view.h"
#include "common/matrices.h"
#include "convert/convert.h"
#include "lu/lu_args.h"
#include "triangular/triangular.h"

enum { KNOB_SIMD, KNOB_PANEL, KNOB_WHOLE, KNOB_TINY, KNOB_PRODUCTS, KNOB_EACH };
static const ingot_ops_knob knobs[] = {
    {.name = "simd",
     .help = "SIMD-groups per threadgroup: small matrices, or strips of 32 columns",
     .fallback = 1,
     .minimum = 1,
     .maximum = 8,
     .power_of_two = true},
    {.name = "panel",
     .help = "SIMD-groups that share a panel of the blocked form",
     .fallback = 1,
     .minimum = 1,
     .maximum = 32,
     .power_of_two = true},
    {.name = "whole",
     .help = "the most rows with which a threadgroup takes a matrix in one launch",
     .fallback = 0,
     .minimum = 0,
     .maximum = LU_WHOLE_ROWS},
    {.name = "tiny",
     .help = "the largest n for which a lane takes a matrix, in batches that are worth it: `each`",
     .fallback = 0,
     .minimum = 0,
     .maximum = LU_TINY},
    {.name = "products",
     .help = "1: larger ones of up to 4096 rows with products over many threadgroups",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1},
    {.name = "each",
     .help = "a lane takes a matrix in batches of at least so many for every two columns; 0: of 32",
     .fallback = 0,
     .minimum = 0,
     .maximum = 32},
};

enum { LU, SOLVE };
static const struct ingot_ops_info operations[] = {
    {.name = "lu",
     .family = "linear algebra",
     .summary = "p a = l u with partial pivoting",
     .limits = "extents up to 2^24",
     .variants =
         "one lane per matrix (up to 16), small (up to 64, in threadgroup memory) or blocked",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
    {.name = "solve",
     .family = "linear algebra",
     .summary = "a x = b by lu with partial pivoting",
     .limits = "extents up to 2^24",
     .variants =
         "one lane per system (up to 16), small (up to 64, in threadgroup memory) or blocked",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

extern const struct igo_library igo_library_lu;
const struct igo_library igo_library_lu = {
    .name = "lu", .operations = operations, .operation_count = 2, .convert = igo_convert};

enum { SMALL = 64, GROUP_BYTES = 32768 };

static uint32_t least(uint32_t a, uint32_t b) {
    return a < b ? a : b;
}

static uint32_t chunks(int64_t extent) {
    return (uint32_t)(extent + 31) / 32;
}

/* One matrix per SIMD-group, `floats` of threadgroup memory each. */
static void launch_small(struct igo_call *call, struct igo_launch *launch, uint64_t batch,
                         uint32_t floats) {
    const uint32_t bytes = floats * (uint32_t)sizeof(float);
    uint32_t simds = igo_knob(call, KNOB_SIMD);
    while (simds > 1 && simds * bytes > GROUP_BYTES) {
        simds /= 2;
    }
    launch->whole_simdgroups = true;
    launch->group[0] = 32 * simds;
    launch->group[1] = launch->group[2] = 1;
    igo_launch_threadgroups(launch, (batch + simds - 1) / simds);
    launch->threadgroup_lengths[0] = simds * bytes;
    launch->threadgroup_length_count = 1;
    igo_dispatch(call, launch);
}

/* One matrix per lane, for large batches of very small ones. */
static bool is_tiny(const struct igo_call *call, const struct lu_small_args *args) {
    const uint32_t most = igo_knob(call, KNOB_TINY);
    const uint32_t n = args->rows > args->columns ? args->rows : args->columns;
    return n <= most && igo_fills_lanes(args->batch, n, igo_knob(call, KNOB_EACH));
}

static void launch_tiny(struct igo_call *call, struct igo_launch *launch, uint64_t batch) {
    launch->group[0] = 32;
    launch->group[1] = launch->group[2] = 1;
    launch->whole_simdgroups = true;
    igo_launch_threadgroups(launch, (batch + 31) / 32);
    igo_dispatch(call, launch);
}

static void lu_small(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *lu,
                     const ingot_arg *pivots, const ingot_arg *info) {
    const struct lu_small_args args = {.batch = (uint64_t)igo_batch(a, 2),
                                       .rows = (uint32_t)igo_matrix_rows(a),
                                       .columns = (uint32_t)igo_matrix_columns(a)};
    struct igo_launch launch = {.kernel = "lu_tiny"};
    const bool tiny = is_tiny(call, &args);
    if (!tiny) {
        igo_launch_kernel(&launch, "lu_small_%u", chunks(args.rows));
    }
    igo_launch_tensor(&launch, a, NULL);
    igo_launch_tensor(&launch, lu, NULL);
    igo_launch_buffer(&launch, pivots->buffer, pivots->offset);
    igo_launch_buffer(&launch, info->buffer, info->offset);
    igo_launch_bytes(&launch, &args, sizeof args);
    if (tiny) {
        launch_tiny(call, &launch, args.batch);
    } else {
        launch_small(call, &launch, args.batch, args.columns * chunks(args.rows) * 32 + 192);
    }
}

static void solve_small(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *b,
                        const ingot_tensor *x, const ingot_arg *info) {
    struct lu_small_args args = {.batch = (uint64_t)igo_batch(a, 2),
                                 .rows = (uint32_t)igo_matrix_rows(a),
                                 .columns = (uint32_t)igo_matrix_rows(a),
                                 .right_sides = (uint32_t)igo_matrix_columns(x)};
    const uint32_t side = chunks(args.rows);
    args.group_floats = (args.rows + LU_FEW_SIDES) * side * 32 + 64 +
                        (args.right_sides > LU_FEW_SIDES ? args.rows * 32 : 0);
    const bool tiny = is_tiny(call, &args) && args.right_sides <= LU_FEW_SIDES;
    struct igo_launch launch = {0};
    if (tiny) {
        launch.kernel = "solve_tiny";
    } else {
        igo_launch_kernel(&launch, "solve_small_%u", side);
    }
    igo_launch_tensor(&launch, a, NULL);
    igo_launch_tensor(&launch, args.right_sides ? b : a, NULL);
    igo_launch_tensor(&launch, args.right_sides ? x : a, NULL);
    igo_launch_buffer(&launch, info->buffer, info->offset);
    igo_launch_bytes(&launch, &args, sizeof args);
    if (!tiny) {
        launch_small(call, &launch, args.batch, args.group_floats);
        return;
    }
    launch_tiny(call, &launch, args.batch);
}

/* ---- the blocked form ---- */

struct factoring {
    const ingot_tensor *lu; /* dense float32, factored in place */
    ingot_arg pivots, info;
    ingot_buffer *transposed;
    uint32_t batch;
    struct lu_step_args args;
};

static void launch_panel(struct igo_call *call, const struct factoring *f) {
    const uint32_t simds = igo_knob(call, KNOB_PANEL);
    struct igo_launch launch = {.whole_simdgroups = true};
    igo_launch_kernel(&launch, simds > 1 ? "lu_panel_shared" : "lu_panel_alone");
    igo_launch_tensor(&launch, f->lu, NULL);
    igo_launch_buffer(&launch, f->transposed, 0);
    igo_launch_buffer(&launch, f->pivots.buffer, f->pivots.offset);
    igo_launch_buffer(&launch, f->info.buffer, f->info.offset);
    igo_launch_bytes(&launch, &f->args, sizeof f->args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = f->batch;
    launch.threadgroups[1] = launch.threadgroups[2] = 1;
    igo_dispatch(call, &launch);
}

static void launch_rows(struct igo_call *call, const struct factoring *f) {
    const uint32_t strips = chunks(f->args.columns);
    const uint32_t simds = least(igo_knob(call, KNOB_SIMD), strips);
    if (f->args.columns <= f->args.width) {
        return;
    }
    struct igo_launch launch = {.kernel = "lu_rows", .whole_simdgroups = true};
    igo_launch_tensor(&launch, f->lu, NULL);
    igo_launch_buffer(&launch, f->pivots.buffer, f->pivots.offset);
    igo_launch_bytes(&launch, &f->args, sizeof f->args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = f->batch;
    launch.threadgroups[1] = (strips + simds - 1) / simds;
    launch.threadgroups[2] = 1;
    launch.threadgroup_lengths[0] = simds * 32 * 32 * (uint32_t)sizeof(float);
    launch.threadgroup_length_count = 1;
    igo_dispatch(call, &launch);
}

static void launch_update(struct igo_call *call, const struct factoring *f) {
    const uint32_t start = f->args.first + f->args.width;
    if (start >= f->args.rows || start >= f->args.columns) {
        return;
    }
    const uint32_t strips = chunks(f->args.columns - start);
    const uint32_t simds = least(igo_knob(call, KNOB_SIMD), strips);
    struct igo_launch launch = {.kernel = "lu_update", .whole_simdgroups = true};
    igo_launch_tensor(&launch, f->lu, NULL);
    igo_launch_bytes(&launch, &f->args, sizeof f->args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = f->batch;
    launch.threadgroups[1] = (strips + simds - 1) / simds;
    launch.threadgroups[2] = (f->args.rows - start + LU_TILE_ROWS - 1) / LU_TILE_ROWS;
    igo_dispatch(call, &launch);
}

/* All of it in one launch, with the right-hand sides x if there are any. */
static bool launch_whole(struct igo_call *call, const struct factoring *f, const ingot_tensor *x) {
    const uint32_t simds = chunks(f->args.rows) > 8 ? 16 : 2 * chunks(f->args.rows);
    const struct lu_whole_args args = {.rows = f->args.rows,
                                       .columns = f->args.columns,
                                       .steps = f->args.steps,
                                       .sides = x ? (uint32_t)igo_matrix_columns(x) : 0};
    if (args.rows > igo_knob(call, KNOB_WHOLE) || args.columns + args.sides > LU_WHOLE_COLUMNS) {
        return false;
    }
    struct igo_launch launch = {.kernel = "lu_whole", .whole_simdgroups = true};
    igo_launch_tensor(&launch, f->lu, NULL);
    igo_launch_tensor(&launch, x ? x : f->lu, NULL);
    igo_launch_buffer(&launch, f->pivots.buffer, f->pivots.offset);
    igo_launch_buffer(&launch, f->info.buffer, f->info.offset);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = f->batch;
    launch.threadgroups[1] = launch.threadgroups[2] = 1;
    launch.threadgroup_lengths[0] = args.rows * LU_WHOLE_PANEL * (uint32_t)sizeof(float);
    launch.threadgroup_length_count = 1;
    igo_dispatch(call, &launch);
    return true;
}

/* The second half of launch_whole for systems. */
static void launch_back(struct igo_call *call, const ingot_tensor *lu, const ingot_tensor *x,
                        const ingot_arg *info) {
    const struct lu_whole_args args = {.rows = (uint32_t)igo_matrix_rows(x),
                                       .sides = (uint32_t)igo_matrix_columns(x)};
    const uint32_t simds = least(igo_knob(call, KNOB_SIMD), args.sides);
    struct igo_launch launch = {.kernel = "solve_back", .whole_simdgroups = true};
    igo_launch_tensor(&launch, lu, NULL);
    igo_launch_tensor(&launch, x, NULL);
    igo_launch_buffer(&launch, info->buffer, info->offset);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = (uint32_t)igo_batch(x, 2);
    launch.threadgroups[1] = (args.sides + simds - 1) / simds;
    launch.threadgroups[2] = 1;
    launch.threadgroup_lengths[0] = simds * chunks(args.rows) * 32 * (uint32_t)sizeof(float);
    launch.threadgroup_length_count = 1;
    igo_dispatch(call, &launch);
}

static bool takes_products(const struct igo_call *call, int64_t rows) {
    return igo_knob(call, KNOB_PRODUCTS) && rows <= LU_COLUMNS_ROWS;
}

/* Factors `lu` in place. Returns whether x, when given, went through it. */
static bool lu_blocked(struct igo_call *call, const ingot_tensor *lu, const ingot_tensor *x,
                       const ingot_arg *pivots, const ingot_arg *info) {
    const uint32_t rows = (uint32_t)igo_matrix_rows(lu), columns = (uint32_t)igo_matrix_columns(lu);
    struct factoring f = {
        .lu = lu,
        .pivots = *pivots,
        .info = *info,
        .batch = (uint32_t)igo_batch(lu, 2),
        .args = {.rows = rows, .columns = columns, .steps = least(rows, columns)}};
    if (launch_whole(call, &f, x)) {
        return true;
    }
    if (takes_products(call, rows)) {
        const struct lu_matrices all = {.memory = {.buffer = lu->buffer, .offset = lu->offset},
                                        .batch = f.batch,
                                        .rows = rows,
                                        .columns = columns,
                                        .stride = columns,
                                        .steps = f.args.steps,
                                        .pivots = *pivots,
                                        .info = *info};
        lu_in_products(call, &all);
        return false;
    }
    f.transposed = igo_scratch(call, sizeof(float) * (uint64_t)f.batch * rows * LU_PANEL);
    for (; f.args.first < f.args.steps && !call->failed; f.args.first += LU_PANEL) {
        f.args.width = least(LU_PANEL, f.args.steps - f.args.first);
        launch_panel(call, &f);
        launch_rows(call, &f);
        launch_update(call, &f);
    }
    if (f.transposed) {
        igo_scratch_release(call, f.transposed);
    }
    return false;
}

/* A kernel with a lane for each column of x, and a matrix's pivots or info. */
static void launch_columns(struct igo_call *call, const char *kernel, const ingot_tensor *x,
                           const ingot_arg *integers) {
    const struct lu_permute_args args = {.rows = (uint32_t)igo_matrix_rows(x),
                                         .columns = (uint32_t)igo_matrix_columns(x),
                                         .steps = (uint32_t)igo_matrix_rows(x)};
    struct igo_launch launch = {.kernel = kernel};
    igo_launch_tensor(&launch, x, NULL);
    igo_launch_buffer(&launch, integers->buffer, integers->offset);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32;
    launch.group[1] = launch.group[2] = 1;
    launch.threadgroups[0] = (uint32_t)igo_batch(x, 2);
    launch.threadgroups[1] = chunks(args.columns);
    launch.threadgroups[2] = 1;
    launch.whole_simdgroups = true;
    igo_dispatch(call, &launch);
}

static bool same_memory(const ingot_tensor *a, const ingot_tensor *b) {
    return a->buffer == b->buffer && a->offset == b->offset;
}

/* Columns from `first` on of [a b], whose rows are `row` long, with the shape of `like`. */
static ingot_tensor columns_of(const ingot_tensor *like, ingot_buffer *buffer, int64_t first,
                               int64_t row) {
    ingot_tensor t = *like;
    t.buffer = buffer;
    t.offset = sizeof(float) * (uint64_t)first;
    t.strides[t.rank - 1] = 1;
    t.strides[t.rank - 2] = row;
    int64_t stride = row * igo_matrix_rows(like);
    for (uint32_t i = t.rank - 2; i-- > 0; stride *= t.shape[i]) {
        t.strides[i] = stride;
    }
    return t;
}

/* The right-hand sides go through the factorisation as columns of the matrix: [a b]. */
static void solve_in_products(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *b,
                              const ingot_tensor *x, const ingot_arg *info) {
    const int64_t n = igo_matrix_rows(a), batch = igo_batch(a, 2), row = n + igo_matrix_columns(x);
    ingot_buffer *all = igo_scratch(call, sizeof(float) * (uint64_t)(batch * n * row));
    ingot_buffer *pivots = igo_scratch(call, sizeof(int32_t) * (uint64_t)(batch * n));
    if (!call->failed) {
        const ingot_tensor left = columns_of(a, all, 0, row), right = columns_of(x, all, n, row);
        igo_convert(call, a, &left);
        igo_convert(call, b, &right);
        const struct lu_matrices matrices = {.memory = {.buffer = all},
                                             .batch = (uint32_t)batch,
                                             .rows = (uint32_t)n,
                                             .columns = (uint32_t)row,
                                             .stride = (uint32_t)row,
                                             .steps = (uint32_t)n,
                                             .pivots = {.buffer = pivots},
                                             .info = *info};
        lu_in_products(call, &matrices);
        igo_convert(call, &right, x);
        const struct igo_triangular system = {
            .a = &left, .b = x, .x = x, .n = n, .upper = true, .blocks = 1, .a_row = row};
        igo_triangular_solve(call, &system);
        launch_columns(call, "solve_clear", x, info);
    }
    if (all) {
        igo_scratch_release(call, all);
    }
    if (pivots) {
        igo_scratch_release(call, pivots);
    }
}

static void solve_blocked(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *b,
                          const ingot_tensor *x, const ingot_arg *info) {
    const int64_t n = igo_matrix_rows(a);
    ingot_tensor lu = igo_scratch_tensor(call, INGOT_SCALAR_F32, a->rank, a->shape);
    const ingot_arg pivots = {
        .buffer = igo_scratch(call, sizeof(int32_t) * (uint64_t)(igo_batch(a, 2) * n))};
    const bool sides = igo_count(x) > 0;
    bool halfway = false;
    if (!call->failed) {
        igo_convert(call, a, &lu);
        if (sides && !same_memory(x, b)) {
            igo_convert(call, b, x);
        }
        halfway = lu_blocked(call, &lu, sides ? x : NULL, &pivots, info);
    }
    if (!call->failed && sides && halfway) {
        launch_back(call, &lu, x, info);
    } else if (!call->failed && sides) {
        launch_columns(call, "lu_permute", x, &pivots);
        struct igo_triangular system = {
            .a = &lu, .b = x, .x = x, .n = n, .unit = true, .simds = igo_knob(call, KNOB_SIMD)};
        igo_triangular_solve(call, &system);
        system.unit = false;
        system.upper = true;
        igo_triangular_solve(call, &system);
        launch_columns(call, "solve_clear", x, info);
    }
    if (lu.buffer) {
        igo_scratch_release(call, lu.buffer);
    }
    if (pivots.buffer) {
        igo_scratch_release(call, pivots.buffer);
    }
}

/* ---- the operations ---- */

static ingot_arg info_memory(struct igo_call *call, const ingot_tensor *info, int64_t batch,
                             ingot_buffer **own) {
    *own = info ? NULL : igo_scratch(call, sizeof(int32_t) * (uint64_t)batch);
    return (ingot_arg){.buffer = info ? info->buffer : *own, .offset = info ? info->offset : 0};
}

static bool check_lu(struct igo_call *call, const ingot_lu_desc *desc) {
    if (!igo_check_matrix(call, "a", desc->a)) {
        return false;
    }
    const int64_t m = igo_matrix_rows(desc->a), n = igo_matrix_columns(desc->a);
    if (!igo_matrix_like(call, "lu", desc->lu, "a", desc->a, m, n) ||
        !igo_batch_integers(call, "pivots", desc->pivots, desc->a, 1, m < n ? m : n, false) ||
        !igo_batch_integers(call, "info", desc->info, desc->a, 0, 0, true)) {
        return false;
    }
    igo_distinct(call, "lu", desc->lu);
    igo_no_overlap(call, "lu", desc->lu, "a", desc->a, true);
    const ingot_tensor *const floats[] = {desc->a, desc->lu};
    const char *const names[] = {"a", "lu"};
    for (int i = 0; i < 2 && !call->failed; i++) {
        igo_no_overlap(call, "pivots", desc->pivots, names[i], floats[i], false);
        if (desc->info && !call->failed) {
            igo_no_overlap(call, "info", desc->info, names[i], floats[i], false);
        }
    }
    if (desc->info && !call->failed) {
        igo_no_overlap(call, "info", desc->info, "pivots", desc->pivots, false);
    }
    return !call->failed;
}

static void choose(struct igo_call *call, const ingot_tensor *a, bool small) {
    struct igo_class class_text = {0};
    igo_class_word(&class_text, small ? "small" : "blocked");
    igo_class_size(&class_text, "m", (uint64_t)igo_matrix_rows(a), 4096);
    igo_class_size(&class_text, "n", (uint64_t)igo_matrix_columns(a), 4096);
    igo_policy(call, a->type, &class_text);
}

ingot_status ingot_op_lu(ingot_ops *ops, ingot_stream *stream, const ingot_lu_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_lu, &operations[LU], desc);
    if (call.failed || !check_lu(&call, desc) || igo_batch(desc->a, 2) == 0) {
        return igo_end(&call);
    }
    const int64_t m = igo_matrix_rows(desc->a), n = igo_matrix_columns(desc->a);
    if (m == 0 || n == 0) {
        if (desc->info) {
            igo_blit_fill(&call, desc->info, 0);
        }
        return igo_end(&call);
    }
    const bool small = m <= SMALL && n <= SMALL;
    choose(&call, desc->a, small);
    struct igo_float_view a = {0}, lu = {0};
    ingot_buffer *own;
    const ingot_arg info = info_memory(&call, desc->info, igo_batch(desc->a, 2), &own);
    const ingot_arg pivots = {.buffer = desc->pivots->buffer, .offset = desc->pivots->offset};
    igo_view_output(&call, desc->lu, &lu);
    if (small) {
        igo_view_input(&call, desc->a, &a);
        if (!call.failed) {
            lu_small(&call, &a.tensor, &lu.tensor, &pivots, &info);
        }
    } else if (!call.failed) {
        if (lu.copied || !same_memory(desc->a, desc->lu)) {
            igo_convert(&call, desc->a, &lu.tensor);
        }
        lu_blocked(&call, &lu.tensor, NULL, &pivots, &info);
    }
    igo_view_store(&call, &lu);
    igo_view_release(&call, &a);
    igo_view_release(&call, &lu);
    if (own) {
        igo_scratch_release(&call, own);
    }
    return igo_end(&call);
}

static bool check_solve(struct igo_call *call, const ingot_solve_desc *desc) {
    char text[160];
    if (!igo_check_matrix(call, "a", desc->a) || !igo_check_matrix(call, "b", desc->b)) {
        return false;
    }
    const int64_t n = igo_matrix_rows(desc->a), k = igo_matrix_columns(desc->b);
    IGO_REQUIRE(call, igo_matrix_columns(desc->a) == n,
                "a has shape %s; its matrices must be square", igo_shape_text(desc->a, text));
    if (!igo_matrix_like(call, "b", desc->b, "a", desc->a, n, k) ||
        !igo_matrix_like(call, "x", desc->x, "a", desc->a, n, k) ||
        !igo_batch_integers(call, "info", desc->info, desc->a, 0, 0, true)) {
        return false;
    }
    igo_distinct(call, "x", desc->x);
    igo_no_overlap(call, "x", desc->x, "a", desc->a, false);
    igo_no_overlap(call, "x", desc->x, "b", desc->b, true);
    const ingot_tensor *const floats[] = {desc->a, desc->b, desc->x};
    const char *const names[] = {"a", "b", "x"};
    for (int i = 0; i < 3 && !call->failed && desc->info; i++) {
        igo_no_overlap(call, "info", desc->info, names[i], floats[i], false);
    }
    return !call->failed;
}

ingot_status ingot_op_solve(ingot_ops *ops, ingot_stream *stream, const ingot_solve_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_lu, &operations[SOLVE], desc);
    if (call.failed || !check_solve(&call, desc) || igo_batch(desc->a, 2) == 0) {
        return igo_end(&call);
    }
    const int64_t n = igo_matrix_rows(desc->a);
    if (n == 0) {
        if (desc->info) {
            igo_blit_fill(&call, desc->info, 0);
        }
        return igo_end(&call);
    }
    choose(&call, desc->a, n <= SMALL);
    struct igo_float_view a = {0}, b = {0}, x = {0};
    ingot_buffer *own;
    const ingot_arg info = info_memory(&call, desc->info, igo_batch(desc->a, 2), &own);
    igo_view_input(&call, desc->a, &a);
    igo_view_input(&call, desc->b, &b);
    igo_view_output(&call, desc->x, &x);
    if (!call.failed && n <= SMALL) {
        solve_small(&call, &a.tensor, &b.tensor, &x.tensor, &info);
    } else if (!call.failed && n > igo_knob(&call, KNOB_WHOLE) && takes_products(&call, n) &&
               igo_count(&x.tensor) > 0) {
        solve_in_products(&call, &a.tensor, &b.tensor, &x.tensor, &info);
    } else if (!call.failed) {
        solve_blocked(&call, &a.tensor, &b.tensor, &x.tensor, &info);
    }
    igo_view_store(&call, &x);
    igo_view_release(&call, &a);
    igo_view_release(&call, &b);
    igo_view_release(&call, &x);
    if (own) {
        igo_scratch_release(&call, own);
    }
    return igo_end(&call);
}
