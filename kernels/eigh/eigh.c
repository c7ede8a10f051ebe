/* eigh on the host: one launch, a SIMD-group per matrix, up to 64 x 64, by Jacobi or by tridiagonal
 * form and QL; the latter in many launches for larger ones. Batches go in parts whose scratch
 * memory stays moderate. */
#include "eigh/eigh.h"
#include "common/float_view.h"
#include "common/matrices.h"
#include "convert/convert.h"
#include "eigh/spectrum.h"

enum {
    SMALL = 64,
    WHOLE = 320,
    MAX_N = 32768,
};

enum { KNOB_SIMD, KNOB_ROWS, KNOB_JACOBI, KNOB_QUICK, KNOB_WHOLE, KNOB_DIVIDE };
static const ingot_ops_knob knobs[] = {
    {.name = "simd",
     .help = "matrices, one SIMD-group each, per threadgroup (up to 64 x 64)",
     .fallback = 2,
     .minimum = 1,
     .maximum = 3},
    {.name = "rows",
     .help = "SIMD-groups, 4 rows each, per threadgroup (beyond 64 x 64)",
     .fallback = 4,
     .minimum = 1,
     .maximum = 32,
     .power_of_two = true},
    {.name = "jacobi",
     .help = "1: two-sided Jacobi up to 64 x 64; 0: the tridiagonal method there too",
     .fallback = 1,
     .minimum = 0,
     .maximum = 1},
    {.name = "quick",
     .help = "1: QL takes the hardware's reciprocal roots, made exact to a rounding",
     .fallback = 1,
     .minimum = 0,
     .maximum = 1},
    {.name = "whole",
     .help = "the largest n for which a threadgroup makes a matrix tridiagonal in one launch",
     .fallback = WHOLE,
     .minimum = 0,
     .maximum = MAX_N},
    {.name = "divide",
     .help = "the least n from which vectors come by divide and conquer over many threadgroups; 0: "
             "none",
     .fallback = 0,
     .minimum = 0,
     .maximum = MAX_N},
};

static const struct ingot_ops_info operations[] = {
    {.name = "eigh",
     .family = "linear algebra",
     .summary = "eigenvalues and eigenvectors of symmetric matrices",
     .limits = "n up to 32768",
     .variants = "n: one SIMD-group per matrix up to 64 (Jacobi, or tridiagonal form and QL), then "
                 "the latter in many launches",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

const struct igo_library igo_library_eigh = {
    .name = "eigh", .operations = operations, .operation_count = 1, .convert = igo_convert};

/* ---- up to 64 x 64: one SIMD-group per matrix ---- */

struct small_kernel {
    const char *name;
    uint32_t scratch, threadgroup; /* floats per matrix */
};
enum { PLAIN, QUICK, JACOBI };
static const struct small_kernel small_kernels[][2] = {
    /* by tridiagonal form: five vectors, the matrix, and its tiles with a line of 32 more each */
    [PLAIN] = {{"eigh_small_32", 5 * 32 + 32 * 32 + 33 * 32, 0},
               {"eigh_small_64", 5 * 64 + 64 * 64 + 2 * 65 * 32, 0}},
    [QUICK] = {{"eigh_quick_32", 5 * 32 + 32 * 32 + 33 * 32, 0},
               {"eigh_quick_64", 5 * 64 + 64 * 64 + 2 * 65 * 32, 0}},
    /* by Jacobi: rotations, the matrix and the vectors */
    [JACOBI] = {{"eigh_jacobi_32", 0, 2 * 32 + 2 * 32 * 32},
                {"eigh_jacobi_64", 2 * 64 * 64, 2 * 64}},
};

static void small(struct igo_call *call, const struct eigh_plan *plan) {
    const uint64_t n = plan->args.n;
    const struct small_kernel *kernel = &small_kernels[plan->jacobi  ? JACOBI
                                                       : plan->quick ? QUICK
                                                                     : PLAIN][n > 32];
    uint64_t most =
        kernel->scratch ? igo_batch_scratch_bytes(call) / (4 * kernel->scratch) : (uint64_t)1 << 24;
    most = most / plan->simd * plan->simd;
    ingot_buffer *work = NULL;
    if (kernel->scratch) {
        work = igo_scratch(call, (plan->count < most ? plan->count : most) * 4 * kernel->scratch);
    }
    for (uint64_t at = 0; at < plan->count && !call->failed; at += most) {
        struct eigh_args args = plan->args;
        args.count = (uint32_t)(plan->count - at < most ? plan->count - at : most);
        args.per_group = plan->simd;
        ingot_tensor a = eigh_part(&plan->a, at, n * n), values = eigh_part(&plan->values, at, n),
                     vectors = eigh_part(&plan->vectors, at, n * n);
        struct igo_launch launch = {.kernel = kernel->name, .whole_simdgroups = true};
        igo_launch_tensor(&launch, &a, NULL);
        igo_launch_tensor(&launch, &values, NULL);
        igo_launch_tensor(&launch, plan->has_vectors ? &vectors : NULL, &values);
        if (work) {
            igo_launch_buffer(&launch, work, 0);
        } else {
            igo_launch_tensor(&launch, &values, NULL);
        }
        igo_launch_bytes(&launch, &args, sizeof args);
        launch.threadgroups[0] = (args.count + plan->simd - 1) / plan->simd;
        launch.threadgroups[1] = launch.threadgroups[2] = 1;
        launch.group[0] = plan->simd * 32;
        launch.group[1] = launch.group[2] = 1;
        if (kernel->threadgroup) {
            launch.threadgroup_lengths[0] = plan->simd * kernel->threadgroup * 4;
            launch.threadgroup_length_count = 1;
        }
        igo_dispatch(call, &launch);
    }
    if (work) {
        igo_scratch_release(call, work);
    }
}

/* ---- larger ones ---- */

struct scratch {
    ingot_tensor state, work, q, turns, sweeps;
};

/* A launch of `groups` threadgroups (0: one in all) of `simds` SIMD-groups for each of the part's
 * matrices; the tensors, then the arguments. */
static void launch_step(struct igo_call *call, const struct eigh_args *args, const char *kernel,
                        uint32_t groups, uint32_t simds, const ingot_tensor *const *tensors,
                        size_t count) {
    struct igo_launch launch = {
        .library = &igo_library_eigh, .kernel = kernel, .whole_simdgroups = true};
    for (size_t i = 0; i < count; i++) {
        igo_launch_tensor(&launch, tensors[i], NULL);
    }
    igo_launch_bytes(&launch, args, sizeof *args);
    launch.threadgroups[0] = groups ? groups : args->count;
    launch.threadgroups[1] = groups ? args->count : 1;
    launch.threadgroups[2] = 1;
    launch.group[0] = simds * 32;
    launch.group[1] = launch.group[2] = 1;
    igo_dispatch(call, &launch);
}

#define STEP(kernel, groups, simds, ...)                                                           \
    launch_step(call, &args, kernel, groups, simds, (const ingot_tensor *const[]){__VA_ARGS__},    \
                sizeof((const ingot_tensor *const[]){__VA_ARGS__}) / sizeof(const ingot_tensor *))

static uint32_t divide_up(uint32_t x, uint32_t by) {
    return (x + by - 1) / by;
}

static void tridiagonal(struct igo_call *call, const struct eigh_plan *plan, struct eigh_args args,
                        const struct scratch *s, const ingot_tensor *a, const ingot_tensor *values,
                        const ingot_tensor *vectors) {
    const uint32_t n = args.n, tiles = args.ld / 32, per_group = 4 * plan->rows;
    STEP("eigh_scale", 0, 1, a, &s->state);
    STEP("eigh_load", n, 1, a, &s->state, &s->work);
    if (n <= plan->whole) {
        STEP("eigh_reduce", 0, 32, &s->state, &s->work);
    }
    for (uint32_t k = n <= plan->whole ? n : 0; k < n && !call->failed; k++) {
        args.step = k;
        STEP("eigh_column", 0, 1, &s->state, &s->work);
        if (k + 1 < n) {
            STEP("eigh_update", divide_up(n - k - 1, per_group), plan->rows, &s->state, &s->work);
        }
    }
    if (args.vectors) {
        STEP("eigh_form", divide_up(n, per_group), plan->rows, &s->state, &s->work, &s->q);
    }
    /* About 0.9 n^2 rotations are needed; rounds beyond what is needed find nothing to do. */
    uint64_t rounds = args.vectors ? 3 * (uint64_t)n * n / args.rotations + 2 : 1;
    for (uint64_t i = 0; i < rounds && !call->failed; i++) {
        STEP(plan->quick ? "eigh_ql_quick" : "eigh_ql", 0, 1, &s->state, &s->turns, &s->sweeps);
        if (args.vectors) {
            STEP("eigh_rotate", tiles, 1, &s->state, &s->turns, &s->sweeps, &s->q);
        }
    }
    STEP("eigh_order", tiles, 1, &s->state, values);
    if (args.vectors) {
        STEP("eigh_store", tiles, 1, &s->state, &s->q, vectors);
    }
}

static ingot_tensor floats(struct igo_call *call, uint64_t count) {
    const int64_t shape[] = {(int64_t)count};
    return igo_scratch_tensor(call, INGOT_SCALAR_F32, 1, shape);
}

static void large(struct igo_call *call, const struct eigh_plan *plan) {
    struct eigh_args args = plan->args;
    if (plan->has_vectors && plan->divide && args.n >= plan->divide && eigh_divide(call, plan)) {
        return;
    }
    const uint64_t n = args.n;
    args.ld = (uint32_t)(n + 31) / 32 * 32;
    args.tile =
        (uint32_t)n * 32 + 32; /* the extra line keeps tiles out of each other's cache sets */
    args.rotations = (uint32_t)(n * (n < 256 ? n : 256));
    args.sweeps = 8 * args.n;
    const uint64_t state = 8 + 5 * (uint64_t)args.ld, work = n * args.ld,
                   q = args.vectors ? (uint64_t)args.ld / 32 * args.tile : 1,
                   turns = args.vectors ? 2 * (uint64_t)args.rotations : 2,
                   sweeps = args.vectors ? 2 * (uint64_t)args.sweeps : 2,
                   each = 4 * (state + work + q + turns + sweeps);
    uint64_t most = each < igo_batch_scratch_bytes(call) ? igo_batch_scratch_bytes(call) / each : 1;
    most = most < plan->count ? most : plan->count;
    struct scratch s = {floats(call, most * state), floats(call, most * work),
                        floats(call, most * q), floats(call, most * turns),
                        floats(call, most * sweeps)};
    for (uint64_t at = 0; at < plan->count && !call->failed; at += most) {
        args.count = (uint32_t)(plan->count - at < most ? plan->count - at : most);
        ingot_tensor a = eigh_part(&plan->a, at, n * n), values = eigh_part(&plan->values, at, n),
                     vectors = eigh_part(&plan->vectors, at, n * n);
        tridiagonal(call, plan, args, &s, &a, &values, &vectors);
    }
    const ingot_tensor *const all[] = {&s.state, &s.work, &s.q, &s.turns, &s.sweeps};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        if (all[i]->buffer) {
            igo_scratch_release(call, all[i]->buffer);
        }
    }
}

void igo_eigh(struct igo_call *call, uint32_t n, uint64_t count, const ingot_tensor *a,
              const ingot_tensor *values, const ingot_tensor *vectors) {
    const struct eigh_plan plan = {
        .args = {.n = n, .vectors = 1},
        .count = count,
        .a = *a,
        .values = *values,
        .vectors = *vectors,
        .has_vectors = true,
        .rows = knobs[KNOB_ROWS].fallback,
        .quick = igo_has_fast_reciprocal_root(call),
        .whole = igo_has_concurrent_simdgroups(call) ? WHOLE : 0,
        .divide = igo_has_concurrent_simdgroups(call) ? SMALL + 1 : 0,
    };
    if (!call->failed) {
        large(call, &plan);
    }
}

/* ---- the call ---- */

static bool check(struct igo_call *call, const ingot_eigh_desc *desc) {
    if (!igo_check_matrix(call, "a", desc->a)) {
        return false;
    }
    const int64_t n = igo_matrix_columns(desc->a);
    IGO_REQUIRE(call, igo_matrix_rows(desc->a) == n && n <= MAX_N,
                "a has matrices of %lld by %lld; they must be square, with up to %d rows",
                (long long)igo_matrix_rows(desc->a), (long long)n, MAX_N);
    igo_spectrum(call, "values", desc->values, desc->a, n, "the number of eigenvalues");
    if (!call->failed && desc->vectors) {
        igo_matrix_like(call, "vectors", desc->vectors, "a", desc->a, n, n);
        if (call->failed) {
            return false;
        }
        igo_distinct(call, "vectors", desc->vectors);
        igo_no_overlap(call, "vectors", desc->vectors, "a", desc->a, false);
        igo_no_overlap(call, "vectors", desc->vectors, "values", desc->values, false);
    }
    return !call->failed;
}

ingot_status ingot_op_eigh(ingot_ops *ops, ingot_stream *stream, const ingot_eigh_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_eigh, &operations[0], desc);
    if (call.failed || !check(&call, desc) || igo_count(desc->values) == 0) {
        return igo_end(&call);
    }
    const uint32_t n = (uint32_t)igo_matrix_columns(desc->a);
    struct igo_class class_text = {0};
    igo_class_size(&class_text, "n", n, 1024);
    igo_class_word(&class_text, desc->vectors ? "vectors" : "values");
    igo_policy(&call, desc->a->type, &class_text);

    struct igo_float_view a, values, vectors = {0};
    igo_view_input(&call, desc->a, &a);
    igo_view_output(&call, desc->values, &values);
    if (desc->vectors) {
        igo_view_output(&call, desc->vectors, &vectors);
    }
    if (!call.failed) {
        const struct eigh_plan plan = {
            .args = {.n = n, .upper = desc->upper, .vectors = desc->vectors != NULL},
            .count = (uint64_t)igo_batch(desc->a, 2),
            .a = a.tensor,
            .values = values.tensor,
            .vectors = desc->vectors ? vectors.tensor : values.tensor,
            .has_vectors = desc->vectors != NULL,
            .simd = igo_knob(&call, KNOB_SIMD),
            .rows = igo_knob(&call, KNOB_ROWS),
            .jacobi = igo_knob(&call, KNOB_JACOBI),
            .quick = igo_knob(&call, KNOB_QUICK),
            .whole = igo_knob(&call, KNOB_WHOLE),
            .divide = igo_knob(&call, KNOB_DIVIDE),
        };
        if (n <= SMALL) {
            small(&call, &plan);
        } else {
            large(&call, &plan);
        }
    }
    igo_view_store(&call, &values);
    igo_view_release(&call, &a);
    igo_view_release(&call, &values);
    if (desc->vectors) {
        igo_view_store(&call, &vectors);
        igo_view_release(&call, &vectors);
    }
    return igo_end(&call);
}
