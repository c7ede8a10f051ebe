/* qr on the host: checks, and the choice between one matrix per SIMD-group and the blocked form. */
#include "qr/qr.h"

#include "common/float_view.h"
#include "common/matrices.h"
#include "convert/convert.h"
#include "qr/qr_args.h"

enum { KNOB_SIMD, KNOB_PANEL, KNOB_PRODUCTS };
static const ingot_ops_knob knobs[] = {
    {.name = "simd",
     .help = "SIMD-groups per threadgroup: small matrices, or strips of 32 columns",
     .fallback = 1,
     .minimum = 1,
     .maximum = 4,
     .power_of_two = true},
    {.name = "panel",
     .help = "SIMD-groups that share a panel of the blocked form",
     .fallback = 1,
     .minimum = 1,
     .maximum = 32,
     .power_of_two = true},
    {.name = "products",
     .help = "1: the blocked form in products over many threadgroups, up to 4096 rows",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1},
};

static const struct ingot_ops_info operations[] = {
    {.name = "qr",
     .family = "linear algebra",
     .summary = "a = q r, reduced or complete",
     .limits = "extents up to 2^24",
     .variants = "small (up to 64 columns, in threadgroup memory) or blocked",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_qr = {
    .name = "qr", .operations = operations, .operation_count = 1, .convert = igo_convert};

enum { SMALL_COLUMNS = 64, SMALL_BYTES = 32768 };

static uint32_t small_bytes(int64_t rows, int64_t columns, int64_t q_columns) {
    return (uint32_t)(rows * ((columns + 31) / 32 + (q_columns + 31) / 32) * 32 *
                      (int64_t)sizeof(float));
}

static bool is_small(int64_t rows, int64_t columns, int64_t q_columns) {
    return columns <= SMALL_COLUMNS && q_columns <= SMALL_COLUMNS && rows <= SMALL_BYTES / 256 &&
           small_bytes(rows, columns, q_columns) <= SMALL_BYTES;
}

static void launch_small(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *q,
                         const ingot_tensor *r) {
    const struct qr_small_args args = {.batch = (uint64_t)igo_batch(a, 2),
                                       .rows = (uint32_t)igo_matrix_rows(a),
                                       .columns = (uint32_t)igo_matrix_columns(a),
                                       .q_columns = (uint32_t)igo_matrix_rows(r),
                                       .want_q = q != NULL};
    const uint32_t bytes = small_bytes(args.rows, args.columns, args.q_columns);
    uint32_t simds = igo_knob(call, KNOB_SIMD);
    while (simds > 1 && simds * bytes > SMALL_BYTES) {
        simds /= 2;
    }
    const uint64_t groups = (args.batch + simds - 1) / simds;
    struct igo_launch launch = {.whole_simdgroups = true};
    igo_launch_kernel(&launch, "qr_small_%u_%u", (args.columns + 31) / 32,
                      (args.q_columns + 31) / 32);
    igo_launch_tensor(&launch, a, NULL);
    igo_launch_tensor(&launch, q, r);
    igo_launch_tensor(&launch, r, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32 * simds;
    launch.group[1] = launch.group[2] = 1;
    igo_launch_threadgroups(&launch, groups);
    launch.threadgroup_lengths[0] = simds * bytes;
    launch.threadgroup_length_count = 1;
    igo_dispatch(call, &launch);
}

static void launch_identity(struct igo_call *call, const ingot_tensor *q) {
    struct igo_launch launch = {.kernel = "qr_identity"};
    const struct qr_matrix_args args = {.rows = (uint32_t)igo_matrix_rows(q),
                                        .columns = (uint32_t)igo_matrix_columns(q)};
    igo_launch_tensor(&launch, q, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    launch.group[0] = 32;
    launch.group[1] = 8;
    launch.group[2] = 1;
    launch.threads[0] = (args.columns + 31) / 32 * 32;
    launch.threads[1] = args.rows;
    launch.threads[2] = (uint32_t)igo_batch(q, 2);
    igo_dispatch(call, &launch);
}

static void launch_blocked(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *q,
                           const ingot_tensor *r) {
    const struct igo_qr_launch launch = {.panel_simds = igo_knob(call, KNOB_PANEL),
                                         .apply_simds = igo_knob(call, KNOB_SIMD),
                                         .products = igo_knob(call, KNOB_PRODUCTS)};
    struct igo_qr qr;
    igo_qr_factor(call, a, launch, &qr);
    if (!call->failed) {
        igo_qr_store_r(call, &qr, r);
    }
    if (q && !call->failed) {
        launch_identity(call, q);
        igo_qr_apply(call, &qr, q, false, true);
    }
    igo_qr_release(call, &qr);
}

static bool check(struct igo_call *call, const ingot_qr_desc *desc) {
    if (!igo_check_matrix(call, "a", desc->a)) {
        return false;
    }
    const int64_t m = igo_matrix_rows(desc->a), n = igo_matrix_columns(desc->a);
    const int64_t k = desc->complete || m < n ? m : n;
    igo_matrix_like(call, "r", desc->r, "a", desc->a, k, n);
    if (call->failed || !igo_distinct(call, "r", desc->r)) {
        return false;
    }
    igo_no_overlap(call, "r", desc->r, "a", desc->a, false);
    if (!desc->q) {
        return !call->failed;
    }
    igo_matrix_like(call, "q", desc->q, "a", desc->a, m, k);
    if (call->failed || !igo_distinct(call, "q", desc->q)) {
        return false;
    }
    igo_no_overlap(call, "q", desc->q, "a", desc->a, false);
    return igo_no_overlap(call, "q", desc->q, "r", desc->r, false);
}

ingot_status ingot_op_qr(ingot_ops *ops, ingot_stream *stream, const ingot_qr_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_qr, &operations[0], desc);
    if (call.failed || !check(&call, desc)) {
        return igo_end(&call);
    }
    const int64_t m = igo_matrix_rows(desc->a), n = igo_matrix_columns(desc->a);
    const int64_t k = igo_matrix_rows(desc->r);
    if (igo_batch(desc->a, 2) == 0 || (igo_count(desc->r) == 0 && k * m == 0)) {
        return igo_end(&call);
    }

    const bool small = is_small(m, n, k);
    struct igo_class class_text = {0};
    igo_class_word(&class_text, small ? "small" : "blocked");
    igo_class_size(&class_text, "m", (uint64_t)m, 4096);
    igo_class_size(&class_text, "n", (uint64_t)n, 4096);
    igo_policy(&call, desc->a->type, &class_text);

    struct igo_float_view a = {0}, q = {0}, r = {0};
    igo_view_input(&call, desc->a, &a);
    if (desc->q) {
        igo_view_output(&call, desc->q, &q);
    }
    igo_view_output(&call, desc->r, &r);
    if (!call.failed && n == 0) {
        if (desc->q) {
            launch_identity(&call, &q.tensor);
        }
    } else if (!call.failed) {
        (small ? launch_small : launch_blocked)(&call, &a.tensor, desc->q ? &q.tensor : NULL,
                                                &r.tensor);
    }
    if (desc->q) {
        igo_view_store(&call, &q);
    }
    igo_view_store(&call, &r);
    igo_view_release(&call, &a);
    igo_view_release(&call, &q);
    igo_view_release(&call, &r);
    return igo_end(&call);
}
