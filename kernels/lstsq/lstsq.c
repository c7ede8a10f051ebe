/* lstsq on the host: tall matrices are first reduced to their r by the blocked QR. Where that shows
 * full rank, a triangle is all there is to solve; the kernel with pivoting does the others. */
#include "lstsq/lstsq_args.h"

#include "common/float_view.h"
#include "common/matrices.h"
#include "convert/convert.h"
#include "qr/qr.h"
#include "triangular/triangular.h"

enum { KNOB_SIMD, KNOB_PANEL, KNOB_FIRST, KNOB_PRODUCTS };
static const ingot_ops_knob knobs[] = {
    {.name = "simd",
     .help = "SIMD-groups that share a matrix",
     .fallback = 1,
     .minimum = 1,
     .maximum = 32,
     .power_of_two = true},
    {.name = "panel",
     .help = "SIMD-groups that share a panel when a tall matrix is reduced",
     .fallback = 1,
     .minimum = 1,
     .maximum = 32,
     .power_of_two = true},
    {.name = "first",
     .help = "1: QR without pivoting first, which is enough where it shows full rank",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1},
    {.name = "products",
     .help = "1: that QR and the triangles in products over many threadgroups",
     .fallback = 0,
     .minimum = 0,
     .maximum = 1},
};

enum { FIRST_LEAST = 48 }; /* columns; smaller matrices are as fast with pivoting at once */

static const struct ingot_ops_info operations[] = {
    {.name = "lstsq",
     .family = "linear algebra",
     .summary = "the x of least norm that minimises |a x - b|, for any rank",
     .limits = "extents up to 2^24",
     .variants = "tall matrices are reduced by qr first",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
};

extern const struct igo_library igo_library_lstsq;
const struct igo_library igo_library_lstsq = {
    .name = "lstsq", .operations = operations, .operation_count = 1, .convert = igo_convert};

static struct lstsq_args arguments(const ingot_tensor *a, const ingot_tensor *b,
                                   const ingot_tensor *x, float rcond) {
    const int64_t k = igo_matrix_columns(x);
    return (struct lstsq_args){.b_stride = (uint64_t)(igo_matrix_rows(b) * k),
                               .rows = (uint32_t)igo_matrix_rows(a),
                               .columns = (uint32_t)igo_matrix_columns(a),
                               .right_sides = (uint32_t)k,
                               .rcond = rcond};
}

/* With pivoting; `tried`: only matrices whose rank is not known. */
static void launch(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *b,
                   const ingot_tensor *x, const ingot_arg *rank, float rcond, bool tried) {
    const int64_t batch = igo_batch(a, 2), n = igo_matrix_columns(a), k = igo_matrix_columns(x);
    struct lstsq_args args = arguments(a, b, x, rcond);
    args.tried = tried;
    const uint32_t simds = igo_knob(call, KNOB_SIMD);
    ingot_buffer *floats = igo_scratch(call, sizeof(float) * 4 * (uint64_t)(batch * n));
    ingot_buffer *order = igo_scratch(call, sizeof(int32_t) * (uint64_t)(batch * n));
    struct igo_launch step = {.whole_simdgroups = true};
    igo_launch_kernel(&step, simds > 1 ? "lstsq_shared" : "lstsq_alone");
    igo_launch_tensor(&step, a, NULL);
    igo_launch_tensor(&step, k ? b : a, NULL);
    igo_launch_tensor(&step, k ? x : a, NULL);
    igo_launch_buffer(&step, floats, 0);
    igo_launch_buffer(&step, order, 0);
    igo_launch_buffer(&step, rank->buffer, rank->offset);
    igo_launch_bytes(&step, &args, sizeof args);
    step.group[0] = 32 * simds;
    step.group[1] = step.group[2] = 1;
    step.threadgroups[0] = (uint32_t)batch;
    step.threadgroups[1] = step.threadgroups[2] = 1;
    igo_dispatch(call, &step);
    if (floats) {
        igo_scratch_release(call, floats);
    }
    if (order) {
        igo_scratch_release(call, order);
    }
}

/* a copy of `from` as dense float32 that may be overwritten */
static ingot_tensor own_copy(struct igo_call *call, const ingot_tensor *from) {
    ingot_tensor copy = igo_scratch_tensor(call, INGOT_SCALAR_F32, from->rank, from->shape);
    if (!call->failed) {
        igo_convert(call, from, &copy);
    }
    return copy;
}

static void solve_directly(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *b,
                           const ingot_tensor *x, const ingot_arg *rank, float rcond) {
    ingot_tensor work = own_copy(call, a);
    if (!call->failed) {
        launch(call, &work, b, x, rank, rcond, false);
    }
    if (work.buffer) {
        igo_scratch_release(call, work.buffer);
    }
}

/* r x = b without pivoting, and the ranks of matrices for which that is the answer; -1: it is not.
 * b may have more rows than r. */
static void solve_full_rank(struct igo_call *call, const ingot_tensor *r, const ingot_tensor *b,
                            const ingot_tensor *x, const ingot_arg *rank, float rcond) {
    const uint32_t n = (uint32_t)igo_matrix_columns(r), batch = (uint32_t)igo_batch(r, 2);
    const struct lstsq_args args = arguments(r, b, x, rcond);
    ingot_tensor inverse = igo_scratch_tensor(call, INGOT_SCALAR_F32, r->rank, r->shape);
    struct igo_launch identity = {
        .kernel = "lstsq_identity", .group = {64, 1, 1}, .threads = {n, n, batch}};
    igo_launch_tensor(&identity, &inverse, NULL);
    igo_launch_bytes(&identity, &args, sizeof args);
    igo_dispatch(call, &identity);
    const bool products = igo_knob(call, KNOB_PRODUCTS);
    struct igo_triangular system = {.a = r,
                                    .b = &inverse,
                                    .x = &inverse,
                                    .n = n,
                                    .upper = true,
                                    .simds = 1,
                                    .blocks = products ? FIRST_LEAST : 0};
    igo_triangular_solve(call, &system);

    struct igo_launch decide = {.kernel = products ? "lstsq_decide_shared" : "lstsq_decide",
                                .group = {products ? 1024 : 32, 1, 1},
                                .threadgroups = {batch, 1, 1},
                                .whole_simdgroups = true};
    igo_launch_tensor(&decide, r, NULL);
    igo_launch_tensor(&decide, &inverse, NULL);
    igo_launch_buffer(&decide, rank->buffer, rank->offset);
    igo_launch_bytes(&decide, &args, sizeof args);
    igo_dispatch(call, &decide);
    igo_scratch_release(call, inverse.buffer);

    if (!igo_count(x)) {
        return;
    }
    ingot_tensor top = *b;
    top.shape[top.rank - 2] = n;
    igo_convert(call, &top, x);
    system.b = system.x = x;
    igo_triangular_solve(call, &system);
}

/* a = q r, then the small problem r x = q'b. */
static void solve_reduced(struct igo_call *call, const ingot_tensor *a, const ingot_tensor *b,
                          const ingot_tensor *x, const ingot_arg *rank, float rcond) {
    const int64_t n = igo_matrix_columns(a);
    const struct igo_qr_launch how = {.panel_simds = igo_knob(call, KNOB_PANEL),
                                      .apply_simds = 1,
                                      .products = igo_knob(call, KNOB_PRODUCTS)};
    struct igo_float_view dense = {0};
    struct igo_qr qr = {0};
    ingot_tensor shape = *a;
    shape.shape[shape.rank - 2] = n;
    ingot_tensor r = igo_scratch_tensor(call, INGOT_SCALAR_F32, shape.rank, shape.shape);
    igo_view_input(call, a, &dense);
    if (!call->failed && igo_qr_factor(call, &dense.tensor, how, &qr)) {
        igo_qr_store_r(call, &qr, &r);
        if (igo_count(x)) {
            igo_qr_apply(call, &qr, b, true, false);
        }
        const bool first = igo_knob(call, KNOB_FIRST);
        if (first) {
            solve_full_rank(call, &r, b, x, rank, rcond);
        }
        launch(call, &r, b, x, rank, rcond, first);
    }
    igo_qr_release(call, &qr);
    igo_view_release(call, &dense);
    if (r.buffer) {
        igo_scratch_release(call, r.buffer);
    }
}

static bool check(struct igo_call *call, const ingot_lstsq_desc *desc) {
    if (!igo_check_matrix(call, "a", desc->a) || !igo_check_matrix(call, "b", desc->b)) {
        return false;
    }
    const int64_t m = igo_matrix_rows(desc->a), n = igo_matrix_columns(desc->a);
    const int64_t k = igo_matrix_columns(desc->b);
    if (!igo_matrix_like(call, "b", desc->b, "a", desc->a, m, k) ||
        !igo_matrix_like(call, "x", desc->x, "a", desc->a, n, k) ||
        !igo_batch_integers(call, "rank", desc->rank, desc->a, 0, 0, true)) {
        return false;
    }
    IGO_REQUIRE(call, desc->rcond >= 0 && desc->rcond < 1, "rcond is %g; it must be in [0, 1)",
                (double)desc->rcond);
    igo_distinct(call, "x", desc->x);
    igo_no_overlap(call, "x", desc->x, "a", desc->a, false);
    igo_no_overlap(call, "x", desc->x, "b", desc->b, false);
    const ingot_tensor *const floats[] = {desc->a, desc->b, desc->x};
    const char *const names[] = {"a", "b", "x"};
    for (int i = 0; i < 3 && !call->failed && desc->rank; i++) {
        igo_no_overlap(call, "rank", desc->rank, names[i], floats[i], false);
    }
    return !call->failed;
}

/* Without rows or columns: x = 0 and rank 0. */
static void solve_nothing(struct igo_call *call, const ingot_lstsq_desc *desc) {
    if (desc->rank) {
        igo_blit_fill(call, desc->rank, 0);
    }
    struct igo_float_view x;
    if (igo_count(desc->x) && igo_view_output(call, desc->x, &x)) {
        igo_blit_fill(call, &x.tensor, 0);
        igo_view_store(call, &x);
        igo_view_release(call, &x);
    }
}

ingot_status ingot_op_lstsq(ingot_ops *ops, ingot_stream *stream, const ingot_lstsq_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_lstsq, &operations[0], desc);
    if (call.failed || !check(&call, desc) || igo_batch(desc->a, 2) == 0) {
        return igo_end(&call);
    }
    const int64_t m = igo_matrix_rows(desc->a), n = igo_matrix_columns(desc->a);
    if (m == 0 || n == 0) {
        solve_nothing(&call, desc);
        return igo_end(&call);
    }
    const bool reduce = m > n + n / 2 && m * n > 64 * 64;
    struct igo_class class_text = {0};
    igo_class_word(&class_text, reduce ? "reduced" : "direct");
    igo_class_size(&class_text, "m", (uint64_t)m, 4096);
    igo_class_size(&class_text, "n", (uint64_t)n, 4096);
    igo_policy(&call, desc->a->type, &class_text);

    const float rcond = desc->rcond > 0 ? desc->rcond : 1.1920929e-7f * (float)(m > n ? m : n);
    ingot_buffer *own =
        desc->rank ? NULL : igo_scratch(&call, sizeof(int32_t) * (uint64_t)igo_batch(desc->a, 2));
    const ingot_arg rank = {.buffer = desc->rank ? desc->rank->buffer : own,
                            .offset = desc->rank ? desc->rank->offset : 0};
    struct igo_float_view x = {0};
    ingot_tensor b = own_copy(&call, desc->b);
    igo_view_output(&call, desc->x, &x);
    const bool first = igo_knob(&call, KNOB_FIRST) && m >= n && n >= FIRST_LEAST;
    if (!call.failed) {
        (reduce || first ? solve_reduced : solve_directly)(&call, desc->a, &b, &x.tensor, &rank,
                                                           rcond);
    }
    igo_view_store(&call, &x);
    igo_view_release(&call, &x);
    if (b.buffer) {
        igo_scratch_release(&call, b.buffer);
    }
    if (own) {
        igo_scratch_release(&call, own);
    }
    return igo_end(&call);
}
