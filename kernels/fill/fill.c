/* fill on the host: the value becomes the bits of a word of four bytes. */
#include "fill/fill_args.h"

#include <string.h>

#include "base/scalar.h"
#include "ops/elementwise.h"

static const ingot_ops_knob knobs[] = {IGO_ELEMENTWISE_KNOB_LIST};

enum { TYPES = IGO_FLOATS | IGO_TYPE(INGOT_SCALAR_I32) | IGO_TYPE(INGOT_SCALAR_U32) };

static const struct ingot_ops_info operations[] = {
    {.name = "fill",
     .family = "quick start",
     .summary = "out = value",
     .limits = "dense tensors",
     .variants = "vectors of four words where memory is aligned",
     .types = TYPES,
     .knobs = knobs,
     .knob_count = IGO_ELEMENTWISE_KNOBS},
};

const struct igo_library igo_library_fill = {
    .name = "fill", .operations = operations, .operation_count = 1};

static uint32_t bits_of(ingot_scalar_type type, double value) {
    float single = (float)value;
    uint32_t bits = 0;
    switch (type) {
    case INGOT_SCALAR_F16:
        return ig_half_bits(value);
    case INGOT_SCALAR_BF16:
        return ig_bfloat_bits(value);
    case INGOT_SCALAR_I32:
        return (uint32_t)(int32_t)value;
    case INGOT_SCALAR_U32:
        return (uint32_t)value;
    default:
        memcpy(&bits, &single, sizeof bits);
        return bits;
    }
}

static void check_value(struct igo_call *call, ingot_scalar_type type, double value) {
    bool is_signed = type == INGOT_SCALAR_I32;
    if (!is_signed && type != INGOT_SCALAR_U32) {
        return;
    }
    bool in_range = value >= (is_signed ? -0x1p31 : 0) && value < (is_signed ? 0x1p31 : 0x1p32);
    IGO_REQUIRE(call, in_range && value == (double)(int64_t)value,
                "value is %g, which %s does not have", value, igo_type_name(type));
}

ingot_status ingot_op_fill(ingot_ops *ops, ingot_stream *stream, const ingot_fill_desc *desc) {
    struct igo_call call;
    igo_begin(&call, ops, stream, &igo_library_fill, &operations[0], desc);
    if (call.failed || !igo_tensor(&call, "out", desc->out, TYPES, 0, INGOT_MAX_RANK)) {
        return igo_end(&call);
    }
    const ingot_tensor *out = desc->out;
    igo_dense(&call, "out", out);
    check_value(&call, out->type, desc->value);
    uint64_t count = (uint64_t)igo_count(out);
    if (call.failed || count == 0) {
        return igo_end(&call);
    }

    struct igo_class class_text = {0};
    igo_class_size(&class_text, "n", count, 1u << 24);
    if (!igo_policy(&call, out->type, &class_text)) {
        return igo_end(&call);
    }
    struct fill_args args = {.words = count,
                             .block = igo_knob(&call, IGO_ELEMENTWISE_BLOCK),
                             .bits = bits_of(out->type, desc->value)};
    if (ig_scalar_size(out->type) == 2) {
        args.head = out->offset % 4 != 0;
        args.tail = (count - args.head) % 2;
        args.words = (count - args.head) / 2;
        args.bits |= args.bits << 16;
    }
    uint64_t start = out->offset / 4 * 4;
    struct igo_launch launch = {0};
    igo_launch_kernel(&launch, "fill");
    igo_launch_constant_bool(&launch, "line_wide",
                             igo_knob(&call, IGO_ELEMENTWISE_WIDE) &&
                                 (ingot_buffer_address(out->buffer) + start + 4 * args.head) % 16 ==
                                     0);
    igo_launch_buffer(&launch, out->buffer, start);
    igo_launch_bytes(&launch, &args, sizeof args);
    igo_launch_simdgroups(&launch, args.words ? (args.words + args.block - 1) / args.block : 1,
                          igo_knob(&call, IGO_ELEMENTWISE_SIMD));
    igo_dispatch(&call, &launch);
    return igo_end(&call);
}
