/* softmax on the host. */
#include <math.h>

#include "base/scalar.h"
#include "common/few_columns_host.h"
#include "common/softmax_backward.h"
#include "softmax/softmax_args.h"

static const ingot_ops_knob knobs[] = {IGO_ROW_KNOBS(0), IGO_ROW_KNOB_KEEP(64)};

enum { FORWARD, BACKWARD };
static const struct ingot_ops_info operations[] = {
    {.name = "softmax",
     .family = "rows",
     .summary = "softmax(x * scale + mask), causal if wanted",
     .limits =
         "dense rows, one stride apart; a mask whose leading dimensions are at most three strides",
     .variants = "type of x, type of mask, blocks kept, row length",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = sizeof knobs / sizeof *knobs},
    {.name = "softmax_backward",
     IGO_ROW_OPERATION,
     .summary = "dx = scale * y * (dy - sum(y * dy))",
     .variants = "type, row length",
     .knobs = knobs,
     .knob_count = IGO_ROW_KEEP},
};

const struct igo_library igo_library_softmax = {
    .name = "softmax", .operations = operations, .operation_count = 2};

/* ---- the mask: broadcast to x, and its leading dimensions made few ---- */

struct dimension {
    uint64_t extent, stride;
};

/* The strides of x's leading dimensions in the mask, without those of extent 1, neighbours merged
 * where one stride walks both. Returns how many there are. */
static uint32_t mask_dimensions(const ingot_tensor *x, const ingot_tensor *mask,
                                struct dimension out[INGOT_MAX_RANK]) {
    uint32_t count = 0, missing = x->rank - mask->rank;
    for (uint32_t i = 0; i + 1 < x->rank; i++) {
        bool repeated = i < missing || mask->shape[i - missing] == 1;
        struct dimension d = {(uint64_t)x->shape[i],
                              repeated ? 0 : (uint64_t)mask->strides[i - missing]};
        if (d.extent == 1) {
            continue;
        }
        if (count && out[count - 1].stride == d.stride * d.extent) {
            out[count - 1].extent *= d.extent;
            out[count - 1].stride = d.stride;
        } else {
            out[count++] = d;
        }
    }
    return count;
}

static void check_mask(struct igo_call *call, const ingot_tensor *x, const ingot_tensor *mask,
                       struct igo_matrix *matrix, struct softmax_args *args) {
    uint32_t types = IGO_TYPE(x->type) | IGO_TYPE(INGOT_SCALAR_F32) | IGO_TYPE(INGOT_SCALAR_BOOL);
    char a[160], b[160];
    if (!igo_tensor(call, "mask", mask, types, 1, x->rank) ||
        !igo_dense_tail(call, "mask", mask, 1)) {
        return;
    }
    for (uint32_t i = 0; i < mask->rank; i++) {
        int64_t extent = x->shape[x->rank - mask->rank + i];
        bool fits = mask->shape[i] == extent || (mask->shape[i] == 1 && i + 1 < mask->rank);
        if (!IGO_REQUIRE(call, fits,
                         "mask has shape %s, which does not repeat to %s of x (its last dimension "
                         "must be there)",
                         igo_shape_text(mask, a), igo_shape_text(x, b))) {
            return;
        }
    }
    struct dimension dimensions[INGOT_MAX_RANK];
    uint32_t count = mask_dimensions(x, mask, dimensions);
    if (!IGO_REQUIRE(call, count <= 3,
                     "the rows of mask, of shape %s, are %u strides apart; at most 3 can be walked",
                     igo_shape_text(mask, a), count)) {
        return;
    }
    args->mask_extents[0] = args->mask_extents[1] = 1;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t at = 3 - count + i;
        args->mask_strides[at] = dimensions[i].stride;
        if (at) {
            args->mask_extents[at - 1] = dimensions[i].extent;
        }
    }
    matrix->aligned =
        matrix->aligned && igo_aligned(mask, 4 * (uint32_t)ig_scalar_size(mask->type));
}

/* ---- calls ---- */

static float scale_of(struct igo_call *call, float scale) {
    IGO_REQUIRE(call, isfinite(scale), "scale is %g; it must be finite", (double)scale);
    return scale == 0 ? 1 : scale;
}

static void check(struct igo_call *call, const ingot_softmax_desc *desc, struct igo_matrix *matrix,
                  struct softmax_args *args) {
    args->x_stride = igo_matrix_begin(call, matrix, "x", desc->x, IGO_FLOATS, false);
    args->out_stride = igo_matrix_more(call, matrix, "out", desc->out, 0, true);
    args->scale = scale_of(call, desc->scale);
    if (desc->mask && !call->failed) {
        check_mask(call, desc->x, desc->mask, matrix, args);
    }
    args->queries = 1;
    if (desc->causal && !call->failed) {
        IGO_REQUIRE(call, desc->x->rank >= 2,
                    "x has %u dimensions; causal needs at least 2, rows and columns",
                    desc->x->rank);
        const int64_t most = (int64_t)1 << 62;
        IGO_REQUIRE(call, desc->causal_offset > -most && desc->causal_offset < most,
                    "causal_offset is %lld; it must be within 2^62 of 0",
                    (long long)desc->causal_offset);
        if (!call->failed) {
            args->queries = (uint64_t)desc->x->shape[desc->x->rank - 2];
        }
        args->causal = 1;
        args->causal_offset = desc->causal_offset;
    }
    const struct igo_named outputs[] = {{"out", desc->out, false}};
    const struct igo_named inputs[] = {{"x", desc->x, true}, {"mask", desc->mask, false}};
    igo_apart(call, outputs, 1, inputs, 2);
    args->rows = matrix->rows;
    args->columns = matrix->columns;
}

ingot_status ingot_op_softmax(ingot_ops *ops, ingot_stream *stream,
                              const ingot_softmax_desc *desc) {
    static const uint32_t keeps[] = {4, 8, 64};
    struct igo_call call;
    struct igo_matrix matrix;
    struct softmax_args args = {0};
    igo_begin(&call, ops, stream, &igo_library_softmax, &operations[FORWARD], desc);
    if (!call.failed) {
        check(&call, desc, &matrix, &args);
    }
    if (call.failed || !matrix.rows || !matrix.columns) {
        return igo_end(&call);
    }

    igo_matrix_policy(&call, &matrix);
    args.past_caches = igo_stores_past_caches(&call, desc->out);
    struct igo_launch launch = {0};
    const bool few = !desc->mask && !desc->causal &&
                     igo_launch_few(&call, &launch, &matrix, "softmax", 32 * FEW_CHUNKS);
    if (!few) {
        igo_launch_kernel(&launch, "softmax_%s_%s_k%u", igo_type_name(desc->x->type),
                          desc->mask ? igo_type_name(desc->mask->type) : "none",
                          igo_matrix_keep(&call, &matrix, keeps, 3));
        igo_launch_rows(&call, &launch, &matrix, matrix.rows);
    }
    igo_launch_tensor(&launch, desc->x, NULL);
    if (!few) {
        igo_launch_optional(&launch, desc->mask);
    }
    igo_launch_tensor(&launch, desc->out, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

ingot_status ingot_op_softmax_backward(ingot_ops *ops, ingot_stream *stream,
                                       const ingot_softmax_backward_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_softmax, &operations[BACKWARD], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    struct igo_softmax_backward backward = {.y = desc->y, .dy = desc->dy, .dx = desc->dx};
    const bool has_work = igo_softmax_backward_begin(&call, &backward);
    const float scale = scale_of(&call, desc->scale);
    if (has_work && !call.failed) {
        const struct softmax_backward_args args = {
            .rows = backward.matrix.rows,
            .y_stride = backward.y_stride,
            .dy_stride = backward.dy_stride,
            .dx_stride = backward.dx_stride,
            .columns = backward.matrix.columns,
            .scale = scale,
            .past_caches = igo_stores_past_caches(&call, desc->dx),
        };
        igo_softmax_backward_launch(&call, &backward, "softmax_backward", &args, sizeof args);
    }
    return igo_end(&call);
}
