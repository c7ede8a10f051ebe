/* quantise and dequantise on the host, and the check of quantised weights. */
#include "quantise/quantise.h"

#include <stdio.h>

#include "quantise/quantise_args.h"

enum { KNOB_GROUP };
static const ingot_ops_knob knobs[] = {
    {.name = "group",
     .help = "threads per threadgroup",
     .fallback = 256,
     .minimum = 32,
     .maximum = 1024,
     .power_of_two = true},
};

enum { QUANTISE, DEQUANTISE };
static const struct ingot_ops_info operations[] = {
    [QUANTISE] = {.name = "quantise",
                  .family = "quantised",
                  .summary = "weights to 4 or 8 bits, by groups of 32, 64 or 128",
                  .limits = "dense matrices; rows are multiples of the group",
                  .variants = "type, scales' type, bits, group, biases",
                  .types = IGO_FLOATS,
                  .knobs = knobs,
                  .knob_count = 1},
    [DEQUANTISE] = {.name = "dequantise",
                    .family = "quantised",
                    .summary = "the numbers that quantised weights stand for",
                    .limits = "dense matrices; rows are multiples of the group",
                    .variants = "type, scales' type, bits, group, biases",
                    .types = IGO_FLOATS,
                    .knobs = knobs,
                    .knob_count = 1},
};

const struct igo_library igo_library_quantise = {"quantise", operations, 2};

#define PACKED_TYPES (IGO_TYPE(INGOT_SCALAR_U32) | IGO_TYPE(INGOT_SCALAR_U8))

/* ---- the check ---- */

static uint32_t per_element(const ingot_quantised *q) {
    return (q->packed->type == INGOT_SCALAR_U8 ? 8 : 32) / q->bits;
}

int64_t igo_quantised_columns(const ingot_quantised *q) {
    return q->packed->shape[1] * per_element(q);
}

static bool check_numbers(struct igo_call *call, const char *name, const ingot_quantised *q) {
    return IGO_REQUIRE(call, q->bits == 4 || q->bits == 8, "%sbits is %u; it must be 4 or 8", name,
                       q->bits) &&
           IGO_REQUIRE(call, q->group == 32 || q->group == 64 || q->group == 128,
                       "%sgroup is %u; it must be 32, 64 or 128", name, q->group);
}

static bool check_matrix(struct igo_call *call, const char *name, const ingot_tensor *t,
                         uint32_t types, int64_t rows, int64_t columns, const char *meaning) {
    return igo_tensor(call, name, t, types, 2, 2) &&
           igo_extent(call, name, t, 0, rows, "rows of the weights") &&
           igo_extent(call, name, t, 1, columns, meaning) && igo_dense(call, name, t);
}

bool igo_quantised(struct igo_call *call, const char *name, const ingot_quantised *q, int64_t n,
                   int64_t k) {
    char packed[48], scales[48], biases[48];
    snprintf(packed, sizeof packed, "%spacked", name);
    snprintf(scales, sizeof scales, "%sscales", name);
    snprintf(biases, sizeof biases, "%sbiases", name);
    if (!check_numbers(call, name, q) || !igo_tensor(call, packed, q->packed, PACKED_TYPES, 2, 2) ||
        !IGO_REQUIRE(call, k % q->group == 0,
                     "rows have %lld elements, no multiple of the group %u", (long long)k,
                     q->group) ||
        !check_matrix(call, packed, q->packed, PACKED_TYPES, n, k / per_element(q),
                      "elements by what one holds") ||
        !check_matrix(call, scales, q->scales, IGO_FLOATS, n, k / q->group, "groups per row"))
        return false;
    IGO_REQUIRE(call, q->packed->offset % 4 == 0 || !igo_count(q->packed),
                "%s starts at byte %llu, which is no multiple of 4", packed,
                (unsigned long long)q->packed->offset);
    return !q->biases ||
           (check_matrix(call, biases, q->biases, IGO_FLOATS, n, k / q->group, "groups per row") &&
            igo_same_type(call, biases, q->biases, scales, q->scales));
}

void igo_quantised_constants(struct igo_launch *launch, const ingot_quantised *q) {
    igo_launch_constant_u32(launch, "bits", q->bits);
    igo_launch_constant_bool(launch, "has_biases", q->biases != NULL);
}

/* ---- the operations ---- */

static bool check(struct igo_call *call, const char *name, const ingot_tensor *dense,
                  const ingot_quantised *q) {
    if (!igo_tensor(call, name, dense, IGO_FLOATS, 2, 2) || !igo_dense(call, name, dense) ||
        !igo_quantised(call, "", q, dense->shape[0], dense->shape[1]))
        return false;
    return IGO_REQUIRE(call, q->scales->type == dense->type || q->scales->type == INGOT_SCALAR_F32,
                       "scales have type %s; they may be f32 or %s's own %s",
                       igo_type_name(q->scales->type), name, igo_type_name(dense->type));
}

static void choose(struct igo_call *call, struct igo_launch *launch, const char *kernel,
                   const ingot_tensor *dense, const ingot_quantised *q) {
    struct igo_class words = {0};
    igo_class_number(&words, "bits", q->bits);
    igo_class_number(&words, "by", q->group);
    igo_policy(call, dense->type, &words);
    igo_launch_kernel(launch, "%s_%s_%s", kernel, igo_type_name(dense->type),
                      igo_type_name(q->scales->type));
    igo_quantised_constants(launch, q);
}

ingot_status ingot_op_quantise(ingot_ops *ops, ingot_stream *stream,
                               const ingot_quantise_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_quantise, &operations[QUANTISE], desc);
    if (call.failed || !check(&call, "x", desc->x, &desc->out) || !igo_count(desc->x))
        return igo_end(&call);
    const ingot_quantised *q = &desc->out;
    igo_no_overlap(&call, "packed", q->packed, "x", desc->x, false);
    igo_no_overlap(&call, "scales", q->scales, "x", desc->x, false);
    igo_no_overlap(&call, "packed", q->packed, "scales", q->scales, false);
    igo_no_overlap(&call, "biases", q->biases, "x", desc->x, false);
    struct igo_launch launch = {0};
    choose(&call, &launch, "quantise", desc->x, q);
    const struct quantise_args args = {.groups = (uint64_t)igo_count(q->scales),
                                       .group_size = q->group};
    igo_launch_tensor(&launch, desc->x, NULL);
    igo_launch_tensor(&launch, q->packed, NULL);
    igo_launch_tensor(&launch, q->scales, NULL);
    igo_launch_tensor(&launch, q->biases, q->scales);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_line(&launch, args.groups, igo_knob(&call, KNOB_GROUP));
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}

ingot_status ingot_op_dequantise(ingot_ops *ops, ingot_stream *stream,
                                 const ingot_dequantise_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_quantise, &operations[DEQUANTISE], desc);
    if (call.failed || !check(&call, "out", desc->out, &desc->x) || !igo_count(desc->out))
        return igo_end(&call);
    const ingot_quantised *q = &desc->x;
    igo_no_overlap(&call, "out", desc->out, "packed", q->packed, false);
    igo_no_overlap(&call, "out", desc->out, "scales", q->scales, false);
    igo_no_overlap(&call, "out", desc->out, "biases", q->biases, false);
    struct igo_launch launch = {0};
    choose(&call, &launch, "dequantise", desc->out, q);
    const struct quantise_args args = {.groups = (uint64_t)igo_count(q->scales),
                                       .group_size = q->group};
    igo_launch_tensor(&launch, q->packed, NULL);
    igo_launch_tensor(&launch, q->scales, NULL);
    igo_launch_tensor(&launch, q->biases, q->scales);
    igo_launch_tensor(&launch, desc->out, NULL);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_line(&launch, args.groups * (q->group * q->bits / 32), igo_knob(&call, KNOB_GROUP));
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}
