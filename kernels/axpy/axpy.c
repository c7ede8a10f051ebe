/* axpy on the host: y = alpha * x + y over dense tensors. */
#include "axpy/axpy_args.h"
#include "ops/elementwise.h"

static const ingot_ops_knob knobs[] = {IGO_ELEMENTWISE_KNOB_LIST};

static const struct ingot_ops_info operations[] = {
    {.name = "axpy",
     .family = "quick start",
     .summary = "y = alpha * x + y",
     .limits = "dense tensors",
     .variants = "type; vectors of four where memory is aligned",
     .types = IGO_FLOATS,
     .knobs = knobs,
     .knob_count = IGO_ELEMENTWISE_KNOBS},
};

const struct igo_library igo_library_axpy = {
    .name = "axpy", .operations = operations, .operation_count = 1};

ingot_status ingot_op_axpy(ingot_ops *ops, ingot_stream *stream, const ingot_axpy_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_axpy, &operations[0], desc);
    if (call.failed) {
        return igo_end(&call);
    }
    igo_tensor(&call, "x", desc->x, IGO_FLOATS, 0, INGOT_MAX_RANK);
    igo_tensor(&call, "y", desc->y, IGO_FLOATS, 0, INGOT_MAX_RANK);
    if (call.failed) {
        return igo_end(&call);
    }
    igo_same_type(&call, "y", desc->y, "x", desc->x);
    igo_same_shape(&call, "y", desc->y, "x", desc->x);
    igo_dense(&call, "x", desc->x);
    igo_dense(&call, "y", desc->y);
    igo_no_overlap(&call, "y", desc->y, "x", desc->x, true);
    if (call.failed || igo_count(desc->x) == 0) {
        return igo_end(&call);
    }

    struct igo_class size = {0};
    igo_class_size(&size, "n", (uint64_t)igo_count(desc->x), 1u << 24);
    if (!igo_policy(&call, desc->x->type, &size)) {
        return igo_end(&call);
    }

    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "axpy_%s", igo_type_name(desc->x->type));
    const struct axpy_args args = {.count = (uint64_t)igo_count(desc->x),
                                   .block = igo_knob(&call, IGO_ELEMENTWISE_BLOCK),
                                   .alpha = desc->alpha};
    igo_launch_constant_bool(&launch, "line_wide",
                             igo_knob(&call, IGO_ELEMENTWISE_WIDE) &&
                                 igo_aligned_to_four(desc->x) && igo_aligned_to_four(desc->y));
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_tensor(&launch, desc->y, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_simdgroups(&launch, (args.count + args.block - 1) / args.block,
                          igo_knob(&call, IGO_ELEMENTWISE_SIMD));
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}
