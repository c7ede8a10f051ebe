/* svd on the host: one launch, a SIMD-group per matrix, up to 64 columns (rows of a wide matrix);
 * svd_large.c beyond. */
#include "svd/svd.h"
#include "common/float_view.h"
#include "convert/convert.h"
#include "eigh/spectrum.h"

enum { KNOB_SIMD, KNOB_GRAM, KNOB_SHARED };
static const ingot_ops_knob knobs[] = {
    {.name = "simd",
     .help = "matrices, one SIMD-group each, per threadgroup (up to 64 columns)",
     .fallback = 2,
     .minimum = 1,
     .maximum = 3},
    {.name = "gram",
     .help =
         "1: first multiply by the eigenvectors of a'a where columns are alike in length (up to 64 "
         "columns)",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1},
    {.name = "shared",
     .help = "1: beyond 64 columns SIMD-groups share pairs of blocks, and products are in tiles",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1},
};

static const struct ingot_ops_info operations[] = {
    {.name = "svd",
     .family = "linear algebra",
     .summary = "singular values and vectors, reduced",
     .limits = "the smaller side up to 32768",
     .variants =
         "the smaller side: one-sided Jacobi by a SIMD-group up to 64, then by blocks of 32 "
         "columns",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_svd = {
    .name = "svd", .operations = operations, .operation_count = 1, .convert = igo_convert};

enum { SMALL = 64, MAX_COUNT = 32768 };

/* ---- up to 64 columns ---- */

struct small_kernel {
    const char *name;
    uint64_t scratch; /* floats per matrix */
    uint32_t threadgroup;
};

/* Rows are 64 or 128 floats where the kernel is for one size. */
static struct small_kernel small_kernel(const struct svd_args *args, bool gram) {
    const uint32_t size = args->length <= 32 ? 32 : args->length <= 64 && args->count > 32 ? 64 : 0;
    struct small_kernel kernel = {.threadgroup = SVD_SHARED_FLOATS};
    const uint64_t work = (uint64_t)args->count * (size ? 2 * size : args->row);
    if (gram) {
        const uint32_t ld = size == 32 ? 32 : 64;
        kernel.name = size == 32 ? "svd_gram_32" : size ? "svd_gram_64" : "svd_gram_long";
        kernel.scratch =
            (uint64_t)args->count * args->padded + 5 * ld + ld * ld + (ld + 1) * ld + work;
    } else {
        kernel.name = size == 32 ? "svd_jacobi_32" : size ? "svd_jacobi_64" : "svd_jacobi_long";
        kernel.scratch = size == 32 ? 0 : work;
        kernel.threadgroup += size == 32 ? 2048 : 0;
    }
    return kernel;
}

static void small(struct igo_call *call, const struct svd_plan *plan) {
    struct svd_args args = plan->args;
    const uint32_t simd = igo_knob(call, KNOB_SIMD);
    const struct small_kernel kernel = small_kernel(&args, igo_knob(call, KNOB_GRAM));
    args.matrix = kernel.scratch;
    args.per_group = simd;
    uint64_t most = (uint64_t)1 << 24;
    if (kernel.scratch) {
        most = igo_batch_scratch_bytes(call) / (4 * kernel.scratch) / simd * simd;
    }
    most = most ? most : 1;
    most = most < plan->count ? most : plan->count;
    ingot_buffer *work = kernel.scratch ? igo_scratch(call, 4 * most * kernel.scratch) : NULL;
    for (uint64_t at = 0; at < plan->count && !call->failed; at += most) {
        args.matrices = (uint32_t)(plan->count - at < most ? plan->count - at : most);
        struct svd_part part = svd_part(plan, at);
        struct igo_launch launch = {.kernel = kernel.name, .whole_simdgroups = true};
        igo_launch_tensor(&launch, &part.a, NULL);
        igo_launch_tensor(&launch, &part.u, NULL);
        igo_launch_tensor(&launch, &part.s, NULL);
        igo_launch_tensor(&launch, &part.vh, NULL);
        if (work) {
            igo_launch_buffer(&launch, work, 0);
        } else {
            igo_launch_tensor(&launch, &part.s, NULL);
        }
        igo_launch_bytes(&launch, &args, sizeof args);
        launch.threadgroups[0] = (args.matrices + simd - 1) / simd;
        launch.threadgroups[1] = launch.threadgroups[2] = 1;
        launch.group[0] = simd * 32;
        launch.group[1] = launch.group[2] = 1;
        launch.threadgroup_lengths[0] = simd * kernel.threadgroup * 4;
        launch.threadgroup_length_count = 1;
        igo_dispatch(call, &launch);
    }
    if (work) {
        igo_scratch_release(call, work);
    }
}

struct svd_part svd_part(const struct svd_plan *plan, uint64_t first) {
    const uint64_t tall = (uint64_t)plan->args.length * plan->args.count,
                   square = (uint64_t)plan->args.count * plan->args.count;
    struct svd_part part = {plan->a, plan->u, plan->s, plan->vh};
    part.a.offset += 4 * first * tall;
    part.s.offset += 4 * first * plan->args.count;
    if (plan->args.vectors) {
        part.u.offset += 4 * first * (plan->args.wide ? square : tall);
        part.vh.offset += 4 * first * (plan->args.wide ? tall : square);
    }
    return part;
}

/* ---- the call ---- */

static bool check_vectors(struct igo_call *call, const char *name, const ingot_tensor *t,
                          const ingot_svd_desc *desc, int64_t rows, int64_t columns) {
    if (!igo_matrix_like(call, name, t, "a", desc->a, rows, columns)) {
        return false;
    }
    igo_distinct(call, name, t);
    igo_no_overlap(call, name, t, "a", desc->a, false);
    return igo_no_overlap(call, name, t, "s", desc->s, false);
}

static bool check(struct igo_call *call, const ingot_svd_desc *desc) {
    if (!igo_check_matrix(call, "a", desc->a)) {
        return false;
    }
    const int64_t m = igo_matrix_rows(desc->a), n = igo_matrix_columns(desc->a), k = m < n ? m : n;
    IGO_REQUIRE(call, k <= MAX_COUNT,
                "a has matrices of %lld by %lld; the smaller side may be up to %d", (long long)m,
                (long long)n, MAX_COUNT);
    IGO_REQUIRE(call, !desc->u == !desc->vh, "%s is given without %s; give both or none",
                desc->u ? "u" : "vh", desc->u ? "vh" : "u");
    igo_spectrum(call, "s", desc->s, desc->a, k, "the number of singular values");
    if (call->failed || !desc->u) {
        return !call->failed;
    }
    return check_vectors(call, "u", desc->u, desc, m, k) &&
           check_vectors(call, "vh", desc->vh, desc, k, n) &&
           igo_no_overlap(call, "vh", desc->vh, "u", desc->u, false);
}

static void run(struct igo_call *call, const ingot_svd_desc *desc) {
    const uint32_t m = (uint32_t)igo_matrix_rows(desc->a),
                   n = (uint32_t)igo_matrix_columns(desc->a);
    const bool vectors = desc->u != NULL;
    struct igo_float_view a, u = {0}, s, vh = {0};
    igo_view_input(call, desc->a, &a);
    igo_view_output(call, desc->s, &s);
    if (vectors) {
        igo_view_output(call, desc->u, &u);
        igo_view_output(call, desc->vh, &vh);
    }
    if (!call->failed) {
        struct svd_plan plan = {
            .args = {.length = m > n ? m : n,
                     .count = m < n ? m : n,
                     .wide = m < n,
                     .vectors = vectors},
            .count = (uint64_t)igo_batch(desc->a, 2),
            .a = a.tensor,
            .u = vectors ? u.tensor : s.tensor,
            .s = s.tensor,
            .vh = vectors ? vh.tensor : s.tensor,
            .shared = igo_knob(call, KNOB_SHARED),
        };
        plan.args.padded = (plan.args.length + 31) / 32 * 32;
        plan.args.vector = vectors ? (plan.args.count + 31) / 32 * 32 : 0;
        plan.args.row = plan.args.padded + plan.args.vector;
        if (plan.args.count <= SMALL) {
            small(call, &plan);
        } else {
            svd_large(call, &plan);
        }
    }
    struct igo_float_view *const views[] = {&a, &s, &u, &vh};
    for (size_t i = 0; i < (vectors ? 4 : 2); i++) {
        if (i > 0) {
            igo_view_store(call, views[i]);
        }
        igo_view_release(call, views[i]);
    }
}

ingot_status ingot_op_svd(ingot_ops *ops, ingot_stream *stream, const ingot_svd_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_svd, &operations[0], desc);
    if (call.failed || !check(&call, desc) || igo_count(desc->s) == 0) {
        return igo_end(&call);
    }
    const int64_t m = igo_matrix_rows(desc->a), n = igo_matrix_columns(desc->a);
    struct igo_class class_text = {0};
    igo_class_size(&class_text, "n", (uint64_t)(m < n ? m : n), 1024);
    igo_class_word(&class_text, desc->u ? "vectors" : "values");
    igo_policy(&call, desc->a->type, &class_text);
    if (!call.failed) {
        run(&call, desc);
    }
    return igo_end(&call);
}
