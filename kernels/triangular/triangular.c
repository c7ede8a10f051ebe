/* triangular_solve on the host. */
#include "triangular/triangular.h"

#include "common/float_view.h"
#include "common/matrices.h"
#include "convert/convert.h"
#include "triangular/triangular_args.h"

enum { KNOB_SIMD };
static const ingot_ops_knob knobs[] = {
    {.name = "simd",
     .help = "SIMD-groups per threadgroup, one for each strip of 32 columns",
     .fallback = 1,
     .minimum = 1,
     .maximum = 8,
     .power_of_two = true},
};

static const struct ingot_ops_info operations[] = {
    {.name = "triangular_solve",
     .family = "linear algebra",
     .summary = "op(a) x = b or x op(a) = b, a triangular",
     .limits = "extents up to 2^24",
     .variants = "one",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_triangular = {
    .name = "triangular", .operations = operations, .operation_count = 1, .convert = igo_convert};

bool igo_triangular_solve(struct igo_call *call, const struct igo_triangular *system) {
    const int64_t n = system->n, columns = igo_matrix_columns(system->x);
    const int64_t a_columns = igo_matrix_columns(system->a);
    struct triangular_args args = {.a_row = system->transposed ? 1 : a_columns,
                                   .a_column = system->transposed ? a_columns : 1,
                                   .a_matrix = igo_matrix_rows(system->a) * a_columns,
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
                                          .simds = igo_knob(&call, KNOB_SIMD)};
    if (!call.failed) {
        igo_triangular_solve(&call, &system);
    }
    igo_view_store(&call, &view_x);
    igo_view_release(&call, &view_a);
    igo_view_release(&call, &view_b);
    igo_view_release(&call, &view_x);
    return igo_end(&call);
}
